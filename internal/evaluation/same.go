package evaluation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
)

// tolerance is the relative difference of numbers that count as the same: another
// machine may round otherwise.
const tolerance = 1e-6

// differences are where two results differ, as "estimate is 0.999, and 0.5166 by …".
func differences(stored, made *Result) ([]string, error) {
	var trees [2]any
	for i, r := range []*Result{stored, made} {
		text, err := json.Marshal(r)
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
		if y, same := b.(float64); same && math.Abs(x-y) <= tolerance*max(1e-3, math.Abs(x), math.Abs(y)) {
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

// mainFirst has differences of what people look at stand before the others.
func mainFirst(all []string) []string {
	rank := func(text string) int {
		for i, name := range []string{"estimate ", "standard_error ", "interval"} {
			if len(text) >= len(name) && text[:len(name)] == name {
				return i
			}
		}
		return 3
	}
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	return all
}
