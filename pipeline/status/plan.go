package status

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"speceval/internal/store/group"
	"speceval/internal/terminal/display"
	"speceval/internal/terminal/table"
	"speceval/pipeline/dag"
)

// page is text for a terminal with a number of columns; 0: none, and nothing is wrapped.
type page struct {
	strings.Builder
	columns int
}

// line adds a line; what does not fit goes on below, behind others.
func (p *page) line(first, others, text string) {
	if p.columns > 0 {
		p.WriteString(table.WrapAt(p.columns, first, others, text))
		return
	}
	p.WriteString(first + text + "\n")
}

// Machines are the machines of a plan's estimates.
type Machines struct {
	Workers  int                // units at a time on this machine
	Elements map[string]float64 // seconds of a job on one core, by the stages that run in jobs; nil: none does
}

// Todo is the work of a run on the units of a stage, and how long that takes where they
// run.
func (m Machines) Todo(stage *dag.StagePlan) string {
	n, jobs := len(stage.Run), ""
	switch {
	case stage.Stage.Satisfied != "":
		return "nothing to run: " + stage.Stage.Satisfied
	case n == 0:
		return fmt.Sprintf("nothing to run: %s fresh", display.Units(len(stage.Stage.Units)))
	}
	seconds, inJobs := m.Elements[stage.Stage.Name]
	e := stage.Estimate(m.Workers)
	if inJobs {
		e = stage.Estimate(1)
		jobs = ", in about " + display.Count(e.Unknown+min(n-e.Unknown, int(math.Ceil(e.Seconds/max(seconds, 1)))), "job", "jobs")
	}
	return fmt.Sprintf("%d of %s to run, %s%s", n, display.Units(len(stage.Stage.Units)), estimated(e, inJobs), jobs)
}

// Seconds is how long the whole plan takes here; 0 where jobs run it, as long as they do.
func (m Machines) Seconds(plan *dag.Plan) float64 {
	if m.Elements != nil {
		return 0
	}
	return plan.Estimate(m.Workers).Seconds
}

// total is the time of the whole plan.
func (m Machines) total(plan *dag.Plan) string {
	switch n := plan.Units(); {
	case n == 0:
		return "nothing to run"
	case m.Elements != nil:
		return display.Units(n) + ", " + estimated(plan.Estimate(1), true)
	default:
		return fmt.Sprintf("%s, %s with -j %d", display.Units(n), estimated(plan.Estimate(m.Workers), false), m.Workers)
	}
}

// estimated is an estimate in words, and what it goes by: wall time, or core-hours of jobs.
func estimated(e dag.Estimate, inJobs bool) string {
	text := "about " + display.Duration(e.Seconds)
	switch {
	case e.Unknown > 0 && e.Seconds == 0:
		return "time unknown"
	case inJobs && e.Seconds < 360:
		text += " of one core"
	case inJobs:
		text = fmt.Sprintf("about %.3g core-hours", e.Seconds/3600)
	case e.Seconds < 1:
		text = "less than 1 s"
	}
	if e.Stated == 0 {
		text += " by earlier runs"
	} else {
		text += " at this machine's speed"
	}
	if e.Unknown > 0 {
		text += fmt.Sprintf(", and %s of unknown time", display.Units(e.Unknown))
	}
	return text
}

// maxReasons bounds the reasons that plan shows of a stage.
const maxReasons = 8

// WritePlan writes, stage by stage, what will run, why and how long it takes, for a
// terminal with a number of columns; 0: none.
func WritePlan(w io.Writer, plan *dag.Plan, m Machines, columns int) error {
	p, width := &page{columns: columns}, len("total")
	for _, stage := range plan.Stages {
		width = max(width, len(stage.Stage.Name))
	}
	indent := strings.Repeat(" ", width+2)
	head := func(name, text string) { p.line(fmt.Sprintf("%-*s  ", width, name), indent, text) }
	for i := range plan.Stages {
		stage := &plan.Stages[i]
		head(stage.Stage.Name, m.Todo(stage))
		var below []string
		for _, q := range stage.Expect() {
			below = append(below, display.Scaled(q.Amount)+" "+q.Name)
		}
		if len(below) > 0 {
			below = []string{strings.Join(below, ", ")}
		}
		reasons := reasonsOf(stage.Run)
		for _, r := range reasons[:min(len(reasons), maxReasons)] {
			below = append(below, display.Units(r.Units)+": "+r.short())
		}
		if more := len(reasons) - maxReasons; more > 0 {
			below = append(below, fmt.Sprintf("and %d more reasons: `speceval why %s`", more, stage.Stage.Name))
		}
		for _, text := range append(below, shared(stage)...) {
			p.line(indent, indent+"  ", text)
		}
	}
	head("total", m.total(plan))
	_, err := io.WriteString(w, p.String())
	return err
}

// shared says what a changed value of the configuration or source means for the units of a
// stage, where the stage says.
func shared(stage *dag.StagePlan) (notes []string) {
	for _, key := range slices.Sorted(maps.Keys(stage.Stage.Shared)) {
		changed := func(r dag.Reason) bool { return r.Old != "" && r.Subject == key }
		units := 0
		for _, r := range stage.Run {
			if slices.ContainsFunc(r.Reasons, changed) {
				units++
			}
		}
		if units > 0 {
			notes = append(notes, fmt.Sprintf("%s changes %s: %s", key, display.Units(units), stage.Stage.Shared[key]))
		}
	}
	return notes
}

// Reason is why some units of a stage are not fresh.
type Reason struct {
	Units int    `json:"units"`
	Why   string `json:"why"` // in full if it is one unit's, in brief otherwise

	records []dag.Record
}

// reasonsOf puts units with the same brief reasons together.
func reasonsOf(run []dag.Record) (all []Reason) {
	for _, units := range group.By(run, func(r dag.Record) string { return dag.Brief(r.Reasons) }) {
		why := dag.Brief(units[0].Reasons)
		if len(units) == 1 {
			why = dag.Explain(units[0].Reasons)
		}
		all = append(all, Reason{len(units), why, units})
	}
	return all
}

// shortReason is how many columns of a reason plan and status show.
const shortReason = 140

// short is the reason without the words that are too many, which are counted.
func (r Reason) short() string {
	if utf8.RuneCountInString(r.Why) <= shortReason {
		return r.Why
	}
	return display.Within(dag.Briefs(r.records[0].Reasons), shortReason)
}

// How many units of a reason, and how many reasons of a unit, why shows unless
// asked for all.
const (
	someUnits   = 5
	someReasons = 8
)

// WriteWhy writes why the units of a stage are not fresh: some units and reasons
// of each reason, or all; columns as for WritePlan. Units have their keys as `speceval
// unit` takes them.
func WriteWhy(w io.Writer, stage *dag.StagePlan, m Machines, all bool, columns int) error {
	p, name := &page{columns: columns}, stage.Stage.Name
	p.line("", "  ", name+": "+m.Todo(stage))
	for _, note := range shared(stage) {
		p.line("", "  ", note)
	}
	for _, group := range reasonsOf(stage.Run) {
		p.line("\n"+display.Units(group.Units)+": ", "  ", dag.Brief(group.records[0].Reasons))
		for i, r := range group.records {
			if i == someUnits && !all {
				p.line("  ", "    ", fmt.Sprintf("and %d more: `speceval why %s --all`", group.Units-i, name))
				break
			}
			before, now := "(none)", "(depends on inputs to be made)"
			if r.Last != nil && r.Last.Key != "" {
				before = r.Last.Key[:16]
			}
			if r.Key != "" {
				now = r.Key[:16]
			}
			p.line("  ", "    ", fmt.Sprintf("%s  key %s → %s", r.Unit.Unit, before, now))
			for k, reason := range r.Reasons {
				if k == someReasons && !all {
					p.line("    ", "      ", fmt.Sprintf("and %d more reasons", len(r.Reasons)-k))
					break
				}
				p.line("    ", "      ", reason.String())
			}
		}
	}
	_, err := io.WriteString(w, p.String())
	return err
}
