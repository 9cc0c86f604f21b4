package lineage

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"speceval/pipeline/dag"
)

// Fact is a fact about what made stored results: each value that units have recorded.
type Fact struct {
	Name   string
	Values []string
}

// Facts are the programs and machines that made results, by the records of units.
func Facts(records []dag.Record) (all []Fact) {
	for _, f := range []struct {
		name, mixed string
		of          func(*dag.Manifest) string
	}{
		{"Made by commit", "programs of %d commits made these results", func(m *dag.Manifest) string { return Commit(m.Origin) }},
		{"Go", "%d versions", func(m *dag.Manifest) string { return m.GoVersion }},
		{"Host", "%d hosts", func(m *dag.Manifest) string { return m.Host }},
		{"Command", "%d command lines", func(m *dag.Manifest) string { return m.Command }},
		{"Provenance", "", func(m *dag.Manifest) string { return m.Provenance }},
	} {
		units := map[string]int{}
		for _, r := range records {
			if r.Manifest != nil {
				units[f.of(r.Manifest)]++
			}
		}
		if len(units) > 0 {
			all = append(all, Fact{f.name, tally(units, f.mixed)})
		}
	}
	return all
}

// Commit is a commit in full, which says so where the program had uncommitted changes.
func Commit(o dag.Origin) string {
	if o.Dirty {
		return o.Commit + ", with uncommitted changes"
	}
	return o.Commit
}

// tally is each text with its units, the most frequent first. Where there are
// several, a line before them says so, in the words of mixed.
func tally(units map[string]int, mixed string) (lines []string) {
	texts := slices.SortedFunc(maps.Keys(units), func(a, b string) int {
		return cmp.Or(cmp.Compare(units[b], units[a]), cmp.Compare(a, b))
	})
	if len(texts) == 1 {
		return texts
	}
	if mixed != "" {
		lines = append(lines, "Mixed: "+fmt.Sprintf(mixed, len(texts))+".")
	}
	for _, text := range texts {
		lines = append(lines, fmt.Sprintf("%s (units: %d)", text, units[text]))
	}
	return lines
}
