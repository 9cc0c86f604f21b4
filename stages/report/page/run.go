package page

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"speceval/internal/terminal/display"
	"speceval/pipeline/dag"
)

// History is how the results were made, which the page shows after them.
type History struct {
	Stages  []dag.Stage  // of the experiment, in order
	Records []dag.Record // of all their units

	Paper map[string]string // values of the paper's setting, by key of the configuration
}

// made are the commits of the programs that made the results, and the values that the results
// follow from and that are not the paper's.
func (h History) made() (commits, others []string) {
	for _, r := range h.Records {
		if r.Last == nil {
			continue
		}
		commits = append(commits, r.Last.Short())
		for key, value := range r.Last.Parts.Config {
			value = strings.ReplaceAll(value, " ", ",") // some units print lists so
			if paper, is := h.Paper[key]; is && strings.Contains(key, ".") && paper != value {
				others = append(others, key+" = "+value)
			}
		}
	}
	slices.Sort(commits)
	slices.Sort(others)
	return slices.Compact(commits), slices.Compact(others)
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
