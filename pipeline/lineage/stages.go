package lineage

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"speceval/pipeline/dag"
)

// Standing is how the units of a stage stand to what a run would make now: how many there
// are, "fresh" or "4 of 6 units fresh", and a warning where results are out of date or missing.
func Standing(stage string, records []dag.Record) (units int, state, warning string) {
	var of [3]int // by dag.State
	for _, r := range records {
		if r.Unit.Stage == stage {
			units, of[r.State] = units+1, of[r.State]+1
		}
	}
	if of[dag.Fresh] == units {
		return units, dag.Fresh.String(), ""
	}
	state = fmt.Sprintf("%d of %d units fresh", of[dag.Fresh], units)
	warning = fmt.Sprintf("The results of the %s stage are out of date (%s): the configuration, the program or stored files have changed since. `speceval run` updates them.", stage, state)
	if of[dag.Missing] == units {
		warning = fmt.Sprintf("The %s stage has not run: its results are missing here.", stage)
	}
	return units, state, warning
}

// Fact is a fact about what made stored results: each value that units have recorded,
// with the number of units where there are several, the most frequent first.
type Fact struct {
	Name   string
	Values []string
}

// Facts are the programs and machines that made results, by the records of units.
func Facts(records []dag.Record) (all []Fact) {
	for _, f := range []struct {
		name string
		of   func(*dag.Manifest) string
	}{
		{"Made by commit", func(m *dag.Manifest) string { return Commit(m.Origin) }},
		{"Go", func(m *dag.Manifest) string { return m.GoVersion }},
		{"Host", func(m *dag.Manifest) string { return m.Host }},
		{"Command", func(m *dag.Manifest) string { return m.Command }},
		{"Provenance", func(m *dag.Manifest) string { return m.Provenance }},
	} {
		units := map[string]int{}
		for _, r := range records {
			if r.Last != nil {
				units[f.of(r.Last)]++
			}
		}
		values := slices.SortedFunc(maps.Keys(units), func(a, b string) int {
			return cmp.Or(cmp.Compare(units[b], units[a]), cmp.Compare(a, b))
		})
		for i, value := range values {
			if len(values) > 1 {
				values[i] = fmt.Sprintf("%s (units: %d)", value, units[value])
			}
		}
		if len(values) > 0 {
			all = append(all, Fact{f.name, values})
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
