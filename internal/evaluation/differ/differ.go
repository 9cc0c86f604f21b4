// Package differ tells where a stored document and one that was computed again differ.
package differ

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
)

// Tolerance is the relative difference of numbers that count as the same: another
// machine may round otherwise.
const Tolerance = 1e-6

// Of is where two values differ in what they store as JSON: "estimate is 0.999, and comes
// to 0.5166".
func Of(stored, made any) ([]string, error) {
	var trees [2]any
	for i, v := range []any{stored, made} {
		text, err := json.Marshal(v)
		if err == nil {
			err = json.Unmarshal(text, &trees[i])
		}
		if err != nil {
			return nil, err
		}
	}
	var all []string
	differ("", trees[0], trees[1], &all)
	return all, nil
}

// differ appends where two values of JSON differ.
func differ(at string, a, b any, all *[]string) {
	switch x := a.(type) {
	case map[string]any:
		if y, same := b.(map[string]any); same {
			keys := maps.Clone(x)
			maps.Copy(keys, y)
			for _, key := range slices.Sorted(maps.Keys(keys)) {
				differ(joined(at, key), x[key], y[key], all)
			}
			return
		}
	case []any:
		if y, same := b.([]any); same && len(x) == len(y) {
			for i := range x {
				differ(fmt.Sprintf("%s[%d]", at, i), x[i], y[i], all)
			}
			return
		}
	case float64:
		if y, same := b.(float64); same && math.Abs(x-y) <= Tolerance*max(1e-3, math.Abs(x), math.Abs(y)) {
			return
		}
	}
	if x, y := shown(a), shown(b); x != y {
		*all = append(*all, fmt.Sprintf("%s is %s, and comes to %s", at, x, y))
	}
}

func joined(at, key string) string {
	if at == "" {
		return key
	}
	return at + "." + key
}

// shown is a value in a few characters; values that differ may be shown alike beyond.
func shown(v any) string {
	text, _ := json.Marshal(v) // of what was JSON
	const most = 60
	return cmp.Or(string(text[:min(most, len(text))]), "nothing")
}
