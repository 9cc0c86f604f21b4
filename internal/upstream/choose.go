package upstream

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"speceval/internal/mersenne"
)

// What the paper's selections have in common: the seed, and how many tasks a large
// group has.
const (
	selectionSeed = 42
	largeGroup    = 100
)

// sampledRows is how many rows a source has that is sampled. Another number is
// another revision, of which a sample would be another one, too.
const sampledRows = 500

// choose gives the tasks of a group out of the rows that belong to it, in the order
// of the benchmark. Of data that was never published any number will do.
func (g Group) choose(rows []row, unpublished bool) ([]row, error) {
	switch {
	case g.Selection == Sample:
		if len(rows) != sampledRows && !unpublished {
			return nil, fmt.Errorf("%s: there are %d rows, want %d: another revision of %s?", g.ID, len(rows), sampledRows, g.Source.Dataset)
		}
		places := mersenne.New(selectionSeed).Sample(len(rows), min(len(rows), largeGroup))
		slices.Sort(places)
		chosen := make([]row, len(places))
		for i, p := range places {
			chosen[i] = rows[p]
		}
		return chosen, nil
	case g.Selection == Rank && len(rows) > largeGroup:
		return ranked(g.ID, rows)[:largeGroup], nil
	}
	return rows, nil
}

// ranked is the rows in the order of the hashes of their ids in a group.
func ranked(group string, rows []row) []row {
	rows = slices.Clone(rows)
	keys := make(map[string]string, len(rows))
	for _, r := range rows {
		keys[r.id] = RankKey(group, r.id)
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(keys[a.id], keys[b.id]), cmp.Compare(a.id, b.id))
	})
	return rows
}

// RankKey is what the rows of a group are ranked by: a hash of their ids.
func RankKey(group, id string) string {
	hash := sha256.Sum256(fmt.Appendf(nil, "sha256_rank_without_replacement_v1|seed=%d|child=%s|task=%s", selectionSeed, group, id))
	return hex.EncodeToString(hash[:])
}
