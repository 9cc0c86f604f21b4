package page

import (
	"fmt"
	"time"

	"speceval/internal/terminal/display"
	"speceval/pipeline/dag"
	"speceval/pipeline/lineage"
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
		if s.Units, s.State, warning = lineage.Standing(of.Name, h.Records); warning != "" && of.Name != "report" {
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

// facts are the programs and machines that made the results, by the units' records,
// and what wrote the page.
func facts(h History) []lineage.Fact {
	return append(lineage.Facts(h.Records),
		lineage.Fact{Name: "Page written by", Values: []string{fmt.Sprintf("commit %s, %s, on a machine of %d cores", lineage.Commit(h.Origin), h.Origin.GoVersion, h.Cores)}})
}
