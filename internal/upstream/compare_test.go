package upstream

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func itoa(i int) string { return strconv.Itoa(i) }

func TestCompare(t *testing.T) {
	theirs := []string{"a", "b", "c", "d"}
	for _, test := range []struct {
		ids, pool []string
		want      []string // nil: no difference
	}{
		{theirs, nil, nil},
		{[]string{"a", "c", "b", "d"}, theirs, []string{`task 1 is "c", published is "b"`, "order differs"}},
		{[]string{"a", "b", "c", "e"}, []string{"a", "b", "c", "d", "e"}, []string{`task 3 is "e", published is "d"`, "selection differs", "3 of them"}},
		{[]string{"a", "b", "c", "e"}, []string{"a", "b", "c", "e"}, []string{"3 of 4 published tasks are in the files", "another revision"}},
		{[]string{"a", "b", "c"}, []string{"a", "b", "c"}, []string{`task 3 is missing, published is "d"`, "another revision"}},
		{[]string{"a", "b", "c", "d", "e"}, []string{"a", "b", "c", "d", "e"}, []string{`task 4 is "e", published is missing`, "selection differs"}},
		{[]string{"a", "x", "c"}, nil, []string{"2 of 4 published tasks are there, and 1 others"}},
	} {
		err := Compare(test.ids, theirs, test.pool)
		if test.want == nil {
			if err != nil {
				t.Errorf("%v: %v", test.ids, err)
			}
			continue
		}
		if !errors.Is(err, ErrOther) || slices.ContainsFunc(test.want, func(w string) bool { return !strings.Contains(err.Error(), w) }) {
			t.Errorf("%v of %v: %v, want %q", test.ids, test.pool, err, test.want)
		}
	}
}
