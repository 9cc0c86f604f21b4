package page

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"speceval/internal/terminal/display"
	"speceval/pipeline/dag"
)

// History is how the results were made, which the page shows after them.
type History struct {
	Stages   []dag.Stage  // of the experiment, in order
	Records  []dag.Record // of all their units
	Settings []Setting
	Origin   dag.Origin // of the program that writes the page
	Cores    int        // of the machine that it runs on
}

// Setting is a key of the configuration with its value.
type Setting struct {
	Key, Value string
	Default    string // the default value, where it is another; empty otherwise
}

// stage is a stage of the run, with what its units took.
type stage struct {
	Name, About, State string
	Units              int
	Start, End         string // of its units, the first and the last
	Wall, CPU, Peak    string // in sum, in sum, and the largest process
}

// stagesOf is the state of every stage and what its units took, with a warning about stored
// results that are not what a run would make now. The page is written where the report
// itself is fresh.
func stagesOf(h History) (all []stage, warnings []string) {
	for _, of := range h.Stages {
		s := stage{Name: of.Name, About: of.About}
		var warning string
		if s.Units, s.State, warning = standing(of.Name, h.Records); warning != "" && of.Name != "report" {
			warnings = append(warnings, warning)
		}
		if of.Satisfied != "" {
			s.State = "nothing to run: " + of.Satisfied
		}
		var start, end time.Time
		var wall, cpu float64
		var peak int64
		for _, r := range h.Records {
			m := r.Last
			if r.Unit.Stage != of.Name || m == nil {
				continue
			}
			if start.IsZero() || m.Start.Before(start) {
				start = m.Start
			}
			if last := m.Start.Add(time.Duration(m.WallSeconds * float64(time.Second))); last.After(end) {
				end = last
			}
			wall, cpu, peak = wall+m.WallSeconds, cpu+m.CPUSeconds, max(peak, m.PeakBytes)
		}
		if !start.IsZero() {
			s.Start, s.End = start.UTC().Format(time.DateTime), end.UTC().Format(time.DateTime)
			s.Wall, s.CPU, s.Peak = display.Duration(wall), display.Duration(cpu), fmt.Sprintf("%.0f MB", float64(peak)/1e6)
		}
		all = append(all, s)
	}
	return all, warnings
}

// standing is how the units of a stage stand to what a run would make now: how many there
// are, "fresh" or "4 of 6 units fresh", and a warning where results are out of date or missing.
func standing(stage string, records []dag.Record) (units int, state, warning string) {
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

// fact is a fact about what made stored results: each value that units have recorded,
// with the number of units where there are several, the most frequent first.
type fact struct {
	Name   string
	Values []string
}

// facts are the programs and machines that made the results, by the units' records,
// and what wrote the page.
func facts(h History) (all []fact) {
	for _, f := range []struct {
		name string
		of   func(*dag.Manifest) string
	}{
		{"Made by commit", func(m *dag.Manifest) string { return m.Revision() }},
		{"Go", func(m *dag.Manifest) string { return m.GoVersion }},
		{"Host", func(m *dag.Manifest) string { return m.Host }},
		{"Command", func(m *dag.Manifest) string { return m.Command }},
		{"Provenance", func(m *dag.Manifest) string { return m.Provenance }},
	} {
		units := map[string]int{}
		for _, r := range h.Records {
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
			all = append(all, fact{f.name, values})
		}
	}
	return append(all, fact{"Page written by", []string{fmt.Sprintf("commit %s, %s, on a machine of %d cores", h.Origin.Revision(), h.Origin.GoVersion, h.Cores)}})
}
