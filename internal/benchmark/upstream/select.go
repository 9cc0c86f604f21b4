package upstream

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
)

// The paper's selections: their seed, and how many tasks a large group has.
const (
	selectionSeed = 42
	largeGroup    = 100
)

// choose gives the tasks of a group out of its rows, in the order of the benchmark.
func (g Group) choose(own []row) []row {
	chosen := slices.Clone(own)
	if g.Selection == All || len(own) <= largeGroup {
		return chosen
	}
	if g.Selection == Rank {
		slices.SortFunc(chosen, func(a, b row) int { return cmp.Compare(RankKey(g.ID, a.ID), RankKey(g.ID, b.ID)) })
		return chosen[:largeGroup]
	}
	places := NewMersenne(selectionSeed).Sample(len(own), largeGroup)
	slices.Sort(places)
	for i, place := range places {
		chosen[i] = own[place]
	}
	return chosen[:largeGroup]
}

// RankKey is the hash by which the rows of a group are ranked.
func RankKey(group, id string) string {
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "sha256_rank_without_replacement_v1|seed=%d|child=%s|task=%s", selectionSeed, group, id)))
}

func idsOf(rows []row) (ids []string) {
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	return ids
}

// ErrOther is the error of tasks that are not the paper's.
var ErrOther = errors.New("not the tasks of the paper")

// Compare compares the ids of a benchmark's tasks with the published ones, both in
// order. pool are the ids of all rows that tasks were chosen of; nil if they are not
// known. The error, an ErrOther, shows the first task that differs, and how many published
// tasks are there: where the pool lacks some, it is of another revision.
func Compare(ids, published, pool []string) error {
	if slices.Equal(ids, published) {
		return nil
	}
	at := 0
	for at < min(len(ids), len(published)) && ids[at] == published[at] {
		at++
	}
	nth := func(ids []string) string {
		if at >= len(ids) {
			return "missing"
		}
		return fmt.Sprintf("%q", ids[at])
	}
	among := func(others []string) (n int) {
		for _, id := range published {
			if slices.Contains(others, id) {
				n++
			}
		}
		return n
	}
	there := fmt.Sprintf("%d of %d published tasks are there, in an order or a selection of its own", among(ids), len(published))
	if n := among(pool); pool != nil && n < len(published) {
		there = fmt.Sprintf("%d of %d published tasks are in the files: these are of another revision", n, len(published))
	}
	return fmt.Errorf("%w: task %d is %s, published is %s: %s", ErrOther, at, nth(ids), nth(published), there)
}
