// Package group puts rows and other values together by a key that they have in common.
package group

// By puts values of the same key together, in order of first appearance.
func By[S ~[]T, T any, K comparable](values S, key func(T) K) (groups []S) {
	at := make(map[K]int)
	for _, v := range values {
		k := key(v)
		i, seen := at[k]
		if !seen {
			i = len(groups)
			at[k], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], v)
	}
	return groups
}
