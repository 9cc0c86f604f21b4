// Package status prints the status of the units of an experiment: what is fresh,
// stale, missing, queued, running and failed, and what a run would do, why, and how
// long that takes; as text and as JSON. It also shows the progress of evaluations and
// transfers while they run. It changes nothing.
package status

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"speceval/internal/display"
	"speceval/pipeline/dag"
	"speceval/pipeline/runlog"
)

// Status is how the stages of an experiment stand, the document of status --json.
type Status struct {
	Out      string    `json:"out"`
	Fresh    bool      `json:"fresh"`         // nothing to run
	Run      string    `json:"run,omitempty"` // the run that is under way, in its own words
	Stages   []Stage   `json:"stages"`
	Failures []Failure `json:"failures,omitempty"` // in their order
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

	groups []group // of Reasons
}

// Reason is why some units of a stage are not fresh.
type Reason struct {
	Units int    `json:"units"`
	Why   string `json:"why"`
}

// Of is how the stages of a plan of everything stand in the folder out, still
// without what their units are at.
func Of(out string, plan *dag.Plan) *Status {
	st := &Status{Out: out, Fresh: plan.Units() == 0}
	for _, p := range plan.Stages {
		s := Stage{
			Name: p.Stage.Name, About: p.Stage.About, Satisfied: p.Stage.Satisfied, State: dag.Stale.String(),
			Fresh: p.Fresh, Missing: p.Missing, Stale: len(p.Run) - p.Missing, groups: grouped(p.Run),
		}
		switch {
		case s.Satisfied != "":
			s.State = "satisfied"
		case len(p.Run) == 0:
			s.State = dag.Fresh.String()
		case s.Stale == 0 && s.Fresh == 0:
			s.State = dag.Missing.String()
		}
		for _, g := range s.groups {
			s.Reasons = append(s.Reasons, Reason{len(g.units), g.why()})
		}
		st.Stages = append(st.Stages, s)
	}
	return st
}

// tableColumns is the width of the table without reasons; narrower terminals have the
// numbers in words.
const tableColumns = 72

// Text writes the stages, the run under way, and the last failures, for a terminal of
// so many columns; 0 for none.
func (st *Status) Text(w io.Writer, columns int) error {
	p := &page{columns: columns}
	width := len("stage")
	for _, s := range st.Stages {
		width = max(width, len(s.Name))
	}
	narrow := columns > 0 && columns < tableColumns+width-len("generate")
	const line = "%-*s  %-9s  %7v  %7v  %7v  %6v  %7v  %6v"
	if !narrow {
		fmt.Fprintf(p, line+"\n", width, "stage", "state", "fresh", "stale", "missing", "queued", "running", "failed")
	}
	for _, s := range st.Stages {
		first := fmt.Sprintf(line, width, s.Name, s.State, s.Fresh, s.Stale, s.Missing, s.Queued, s.Running, s.Failed)
		why := s.why(p.room(len(first) + 2))
		switch {
		case narrow:
			p.line(fmt.Sprintf("%-*s  ", width, s.Name), strings.Repeat(" ", width+4), s.inWords(why))
		case why == "":
			p.line(first, "", "")
		default:
			p.line(first+"  ", "    ", why)
		}
	}
	st.writeRun(p)
	return p.write(w)
}

// why is the first reason of a stage, in so many columns.
func (s *Stage) why(room int) string {
	if s.Satisfied != "" || len(s.groups) == 0 {
		return s.Satisfied
	}
	more := ""
	if n := len(s.groups) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more reasons)", n)
	}
	return s.groups[0].whyWithin(room-len(more)) + more
}

// inWords is "stale: 3 fresh, 2 stale; never run".
func (s *Stage) inWords(why string) string {
	var words []string
	for _, n := range []struct {
		units int
		what  string
	}{{s.Fresh, "fresh"}, {s.Stale, "stale"}, {s.Missing, "missing"}, {s.Queued, "queued"}, {s.Running, "running"}, {s.Failed, "failed"}} {
		if n.units > 0 {
			words = append(words, fmt.Sprintf("%d %s", n.units, n.what))
		}
	}
	parts := slices.DeleteFunc([]string{strings.Join(words, ", "), why}, func(s string) bool { return s == "" })
	return s.State + ": " + strings.Join(parts, "; ")
}

// fewFailures is how many failed units status lists; --json has all.
const fewFailures = 5

// Failure is a unit that failed and is not fresh since.
type Failure struct {
	Stage string    `json:"stage"`
	Unit  string    `json:"unit"`
	Time  time.Time `json:"time"`
	Error string    `json:"error"` // its first line
	Log   string    `json:"log"`   // file with the whole of it
	Host  string    `json:"host,omitempty"`
	Job   string    `json:"job,omitempty"`
}

// writeRun writes what comes below the table: the run under way, and the units
// that failed last.
func (st *Status) writeRun(b *page) {
	if st.Run != "" {
		b.line("\n", "  ", "a run is under way: "+st.Run)
	}
	if len(st.Failures) == 0 {
		return
	}
	more := max(0, len(st.Failures)-fewFailures)
	b.WriteString("\nfailed, and not fresh since:\n")
	for _, f := range st.Failures[more:] {
		b.line("  ", "    ", fmt.Sprintf("%s/%s: %s", f.Stage, f.Unit, f.Error))
		where := f.Log
		if f.Job != "" {
			where += ", job " + f.Job
		}
		if f.Host != "" {
			where += ", on " + f.Host
		}
		b.line("    ", "    ", where)
	}
	if more > 0 {
		b.line("  ", "    ", fmt.Sprintf("and %s before: `speceval status --json`", display.Units(more)))
	}
}

// At adds to the status of a plan of everything what its units are at: queued, running or
// failed, by the log of the newest run and by elsewhere, which has the units on other
// machines and knows better; it may be nil.
func (st *Status) At(plan *dag.Plan, elsewhere func(out string) ([]runlog.Event, error)) error {
	log, err := runlog.Stand(filepath.Join(st.Out, dag.LogsDir))
	if err != nil {
		return err
	}
	st.Run = dag.Holder(st.Out)
	alive := st.Run != "" && !log.Ended && strings.HasPrefix(log.Holder, st.Run)
	found := make(map[dag.Ref]runlog.Event)
	for _, e := range log.Open {
		if e.What == runlog.Failed || alive { // else its process was killed
			found[e.Unit()] = e
		}
	}
	if elsewhere != nil {
		far, err := elsewhere(st.Out)
		if err != nil {
			return err
		}
		for _, e := range far {
			found[e.Unit()] = e
		}
	}
	stale := map[dag.Ref]string{} // keys; empty where they depend on inputs to be made
	for _, stage := range plan.Stages {
		for _, r := range stage.Run {
			stale[r.Unit] = r.Key
		}
	}
	maps.DeleteFunc(found, func(unit dag.Ref, e runlog.Event) bool {
		key, known := stale[unit]
		return e.What == runlog.Failed && !(known && (key == "" || e.Key == "" || key == e.Key))
	})
	st.add(slices.SortedFunc(maps.Values(found), func(a, b runlog.Event) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.ID, b.ID))
	}))
	return nil
}

// add counts what units are at, in the order in which they came to be so.
func (st *Status) add(all []runlog.Event) {
	for _, e := range all {
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
			stage.Failed++
			line, _, _ := strings.Cut(strings.TrimSpace(e.Error), "\n")
			st.Failures = append(st.Failures, Failure{e.Stage, e.ID, e.Time, line, e.Log, e.Host, e.Job})
		}
	}
}
