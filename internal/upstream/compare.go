package upstream

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// ErrOther is the error of tasks that are not those of the paper.
var ErrOther = errors.New("not the tasks of the paper")

// Compare holds the ids of a benchmark's tasks against the published ones, both in
// order. pool are the ids of all rows that tasks were chosen of; nil if it is not
// known. The error, an ErrOther, shows the first task that differs and says what
// explains it: an order, a selection or a revision of its own.
func Compare(ids, published, pool []string) error {
	if slices.Equal(ids, published) {
		return nil
	}
	at := 0
	for at < min(len(ids), len(published)) && ids[at] == published[at] {
		at++
	}
	return fmt.Errorf("%w: task %d is %s, published is %s: %s", ErrOther, at, nth(ids, at), nth(published, at), explain(ids, published, pool))
}

func nth(ids []string, i int) string {
	if i >= len(ids) {
		return "missing"
	}
	return fmt.Sprintf("%q", ids[i])
}

// explain says what differs in lists that are not equal.
func explain(ids, published, pool []string) string {
	here, theirs := set(ids), set(published)
	if maps.Equal(here, theirs) && len(ids) == len(published) {
		return "the order differs, the tasks are the same"
	}
	if pool == nil {
		return fmt.Sprintf("%d of %d published tasks are there, and %d others", shared(published, here), len(published), len(ids)-shared(ids, theirs))
	}
	if there := shared(published, set(pool)); there < len(published) {
		return fmt.Sprintf("%d of %d published tasks are in the files: these are of another revision", there, len(published))
	}
	return fmt.Sprintf("all published tasks are in the files, %d of them were chosen: the selection differs, as when a revision has further rows", shared(published, here))
}

func set(ids []string) map[string]bool {
	all := make(map[string]bool, len(ids))
	for _, id := range ids {
		all[id] = true
	}
	return all
}

// shared counts the ids that are in a set.
func shared(ids []string, others map[string]bool) int {
	n := 0
	for _, id := range ids {
		if others[id] {
			n++
		}
	}
	return n
}
