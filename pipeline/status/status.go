// Package status prints the status of the units of an experiment: what is fresh,
// stale, missing, queued, running and failed, and what a run would do, why, and how
// long that takes; as text and as JSON. It also shows the progress of runs. It changes nothing.
package status

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"speceval/internal/terminal/display"
	"speceval/pipeline/dag"
	"speceval/pipeline/runlog"
)

// Status is how the stages of an experiment stand, the document of status --json.
type Status struct {
	Out      string         `json:"out"`
	Fresh    bool           `json:"fresh"`         // nothing to run
	Run      string         `json:"run,omitempty"` // the run that is under way, in its own words
	Stages   []Stage        `json:"stages"`
	Failures []runlog.Event `json:"failures,omitempty"` // of units that are not fresh since, in their order; errors by their first lines
}

// Stage is how one stage stands.
type Stage struct {
	Name      string   `json:"name"`
	About     string   `json:"about"`
	State     string   `json:"state"`               // satisfied, fresh, stale, or missing if no unit has ever run
	Satisfied string   `json:"satisfied,omitempty"` // why there is nothing to run
	Fresh     int      `json:"fresh"`               // units
	Stale     int      `json:"stale"`
	Missing   int      `json:"missing"`
	Queued    int      `json:"queued"` // units, of whatever state
	Running   int      `json:"running"`
	Failed    int      `json:"failed"`
	Reasons   []Reason `json:"reasons,omitempty"`
}

// Of is how the stages of a plan of everything stand in the folder out, and what its units are
// at: queued, running or failed, by the last event of each. Holder has the lock of the folder.
func Of(out, holder string, plan *dag.Plan, events []runlog.Event) *Status {
	st := &Status{Out: out, Fresh: plan.Units() == 0, Run: holder}
	stale := make(map[dag.Ref]string) // keys; empty where they depend on inputs to be made
	for _, p := range plan.Stages {
		s := Stage{
			Name: p.Stage.Name, About: p.Stage.About, Satisfied: p.Stage.Satisfied, State: dag.Stale.String(),
			Fresh: len(p.Stage.Units) - len(p.Run), Stale: len(p.Run), Reasons: reasonsOf(p.Run),
		}
		for _, r := range p.Run {
			stale[r.Unit] = r.Key
			if r.State == dag.Missing {
				s.Missing, s.Stale = s.Missing+1, s.Stale-1
			}
		}
		switch {
		case s.Satisfied != "":
			s.State = "satisfied"
		case len(p.Run) == 0:
			s.State = dag.Fresh.String()
		case s.Stale == 0 && s.Fresh == 0:
			s.State = dag.Missing.String()
		}
		st.Stages = append(st.Stages, s)
	}
	last := make(map[dag.Ref]runlog.Event)
	for _, e := range events {
		last[e.Unit()] = e
	}
	for _, e := range slices.SortedFunc(maps.Values(last), func(a, b runlog.Event) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.ID, b.ID))
	}) {
		at := slices.IndexFunc(st.Stages, func(s Stage) bool { return s.Name == e.Stage })
		if at < 0 {
			continue // of another configuration
		}
		switch stage := &st.Stages[at]; e.What {
		case runlog.Queued:
			stage.Queued++
		case runlog.Started:
			stage.Running++
		case runlog.Failed:
			if key, is := stale[e.Unit()]; !is || key != "" && e.Key != "" && key != e.Key {
				continue // it is fresh since, or another
			}
			stage.Failed++
			e.Error, _, _ = strings.Cut(strings.TrimSpace(e.Error), "\n")
			st.Failures = append(st.Failures, e)
		}
	}
	return st
}

// Text writes the stages, the run under way, and the last failures; columns as for
// WritePlan.
func (st *Status) Text(w io.Writer, columns int) error {
	const fewFailures = 5 // failed units; --json has all
	p, width := &page{columns: columns}, 0
	for _, s := range st.Stages {
		width = max(width, len(s.Name))
	}
	for _, s := range st.Stages {
		p.line(fmt.Sprintf("%-*s  ", width, s.Name), strings.Repeat(" ", width+4), s.text())
	}
	if st.Run != "" {
		p.line("\n", "  ", "a run is under way: "+st.Run)
	}
	more := max(0, len(st.Failures)-fewFailures)
	if len(st.Failures) > 0 {
		p.WriteString("\nfailed, and not fresh since:\n")
	}
	for _, e := range st.Failures[more:] {
		p.line("  ", "    ", fmt.Sprintf("%s: %s", e.Unit(), e.Error))
		where := e.Log
		if e.Job != "" {
			where += ", job " + e.Job
		}
		if e.Host != "" {
			where += ", on " + e.Host
		}
		p.line("    ", "    ", where)
	}
	if more > 0 {
		p.line("  ", "    ", fmt.Sprintf("and %s before: `speceval status --json`", display.Units(more)))
	}
	_, err := io.WriteString(w, p.String())
	return err
}

// text is "stale: 3 fresh, 2 stale; never run (and 1 more reason)".
func (s *Stage) text() string {
	var words []string
	for _, n := range []struct {
		units int
		what  string
	}{{s.Fresh, "fresh"}, {s.Stale, "stale"}, {s.Missing, "missing"}, {s.Queued, "queued"}, {s.Running, "running"}, {s.Failed, "failed"}} {
		if n.units > 0 {
			words = append(words, fmt.Sprintf("%d %s", n.units, n.what))
		}
	}
	text := s.State + ": " + strings.Join(words, ", ") + s.Satisfied
	if len(s.Reasons) > 0 {
		text += "; " + s.Reasons[0].short()
	}
	if more := len(s.Reasons) - 1; more > 0 {
		text += " (and " + display.Count(more, "more reason", "more reasons") + ")"
	}
	return text
}
