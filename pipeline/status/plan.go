package status

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"speceval/internal/display"
	"speceval/internal/table"
	"speceval/pipeline/dag"
)

// longLine is how long lines with reasons may become where no terminal shows them.
const longLine = 160

// page is text under way, wrapped to a terminal.
type page struct {
	strings.Builder
	columns int // of the terminal; 0: none, and nothing is wrapped
}

// line adds a line; what does not fit goes on below, behind others.
func (p *page) line(first, others, text string) {
	if p.columns == 0 {
		p.WriteString(first + text + "\n")
		return
	}
	p.WriteString(table.WrapAt(p.columns, first, others, text))
}

// room is the number of columns for a text behind others.
func (p *page) room(behind int) int {
	if p.columns == 0 {
		return longLine - behind
	}
	return 2*p.columns - behind // two lines
}

func (p *page) write(w io.Writer) error {
	_, err := io.WriteString(w, p.String())
	return err
}

// Machines are the machines of a plan's estimates.
type Machines struct {
	Workers  int                // units at a time on this machine
	Elements map[string]float64 // seconds of a job on one core, by the stages that run in jobs; nil: none does
}

// Todo is the work of a run on the units of a stage, and how long that takes where they
// run.
func (m Machines) Todo(stage *dag.StagePlan) string {
	switch n := len(stage.Run); {
	case stage.Stage.Satisfied != "":
		return "nothing to run: " + stage.Stage.Satisfied
	case n == 0:
		return fmt.Sprintf("nothing to run: %s fresh", display.Units(stage.Fresh))
	default:
		return fmt.Sprintf("%d of %s to run, %s", n, display.Units(n+stage.Fresh), m.estimated(stage))
	}
}

func (m Machines) estimated(stage *dag.StagePlan) string {
	seconds, inJobs := m.Elements[stage.Stage.Name]
	if !inJobs {
		return wallTime(stage.Estimate(m.Workers))
	}
	e := stage.Estimate(1)
	known := len(stage.Run) - e.Unknown
	jobs := e.Unknown + min(known, int(math.Ceil(e.Seconds/max(seconds, 1))))
	return fmt.Sprintf("%s, in about %s", coreHours(e), display.Count(jobs, "job", "jobs"))
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
		return fmt.Sprintf("%s, %s", display.Units(n), coreHours(plan.Estimate(1)))
	default:
		return fmt.Sprintf("%s, %s with -j %d", display.Units(n), wallTime(plan.Estimate(m.Workers)), m.Workers)
	}
}

func wallTime(e dag.Estimate) string {
	if e.Seconds < 1 {
		return grounded(e, "less than 1 s")
	}
	return grounded(e, "about "+display.Duration(e.Seconds))
}

func coreHours(e dag.Estimate) string {
	return grounded(e, fmt.Sprintf("about %.3g core-hours", e.Seconds/3600))
}

// grounded says what an estimate is about by.
func grounded(e dag.Estimate, about string) string {
	if e.Unknown > 0 && e.Seconds == 0 {
		return "time unknown"
	}
	if e.Stated == 0 {
		about += " by earlier runs"
	} else {
		about += " at this machine's speed"
	}
	if e.Unknown > 0 {
		about += fmt.Sprintf(", and %s of unknown time", display.Units(e.Unknown))
	}
	return about
}

// maxReasons bounds the reasons that plan shows of a stage.
const maxReasons = 8

// WritePlan writes, stage by stage, what will run, why and how long it takes, for a
// terminal of so many columns; 0 for none.
func WritePlan(w io.Writer, plan *dag.Plan, m Machines, columns int) error {
	p := &page{columns: columns}
	width := len("total")
	for _, stage := range plan.Stages {
		width = max(width, len(stage.Stage.Name))
	}
	width += 2
	indent := strings.Repeat(" ", width)
	for i := range plan.Stages {
		stage := &plan.Stages[i]
		p.line(fmt.Sprintf("%-*s", width, stage.Stage.Name), indent, m.Todo(stage))
		under := func(text string) { p.line(indent, indent+"  ", text) }
		var expect []string
		for _, q := range stage.Expect() {
			expect = append(expect, display.Scaled(q.Amount)+" "+q.Name)
		}
		if len(expect) > 0 {
			under(strings.Join(expect, ", "))
		}
		reasons := reasonsOf(stage.Run)
		for _, r := range reasons[:min(len(reasons), maxReasons)] {
			count := display.Units(r.Units) + ": "
			under(count + r.within(p.room(width+len(count))))
		}
		if more := len(reasons) - maxReasons; more > 0 {
			under(fmt.Sprintf("and %d more reasons: `speceval why %s`", more, stage.Stage.Name))
		}
		for _, note := range shared(stage) {
			under(note)
		}
	}
	p.line(fmt.Sprintf("%-*s", width, "total"), indent, m.total(plan))
	return p.write(w)
}

// shared says why a changed value of the configuration is part of the keys of all units
// of a stage, where the stage says.
func shared(stage *dag.StagePlan) (notes []string) {
	units := map[string]int{}
	for _, r := range stage.Run {
		for _, reason := range r.Reasons {
			if reason.Kind == dag.Config && reason.Old != "" && stage.Stage.Shared[reason.Subject] != "" {
				units[reason.Subject]++
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(units)) {
		notes = append(notes, fmt.Sprintf("%s changes %s: %s", key, display.Units(units[key]), stage.Stage.Shared[key]))
	}
	return notes
}

// Reason is why some units of a stage are not fresh.
type Reason struct {
	Units int    `json:"units"`
	Why   string `json:"why"` // in full if it is one unit's, in brief otherwise

	brief   string
	records []dag.Record
}

// reasonsOf puts units with the same brief reasons together, in order of first
// appearance.
func reasonsOf(run []dag.Record) (all []Reason) {
	place := make(map[string]int)
	for _, r := range run {
		brief := dag.Brief(r.Reasons)
		at, seen := place[brief]
		if !seen {
			at = len(all)
			place[brief] = at
			all = append(all, Reason{Why: dag.Explain(r.Reasons), brief: brief})
		}
		of := &all[at]
		if of.records = append(of.records, r); seen {
			of.Why = brief
		}
		of.Units++
	}
	return all
}

// within is the reason in a number of columns at most: words beyond it are counted.
func (r Reason) within(columns int) string {
	if utf8.RuneCountInString(r.Why) <= columns {
		return r.Why
	}
	return display.Within(dag.Briefs(r.records[0].Reasons), columns)
}

// How many units of a reason, and how many reasons of a unit, why shows unless
// asked for all.
const (
	someUnits   = 5
	someReasons = 8
)

// WriteWhy writes why the units of a stage are not fresh: some units and reasons
// of each reason, or all; columns as for WritePlan.
func WriteWhy(w io.Writer, stage *dag.StagePlan, m Machines, all bool, columns int) error {
	p, name := &page{columns: columns}, stage.Stage.Name
	p.line("", "  ", name+": "+m.Todo(stage))
	for _, note := range shared(stage) {
		p.line("", "  ", note)
	}
	for _, reason := range reasonsOf(stage.Run) {
		p.line("\n"+display.Units(reason.Units)+": ", "  ", reason.brief)
		for i, r := range reason.records {
			if i == someUnits && !all {
				p.line("  ", "    ", fmt.Sprintf("and %d more: `speceval why %s --all`", reason.Units-i, name))
				break
			}
			p.unit(r, all)
		}
	}
	return p.write(w)
}

// unit is the keys of a unit, as `speceval unit` takes them, and its reasons.
func (p *page) unit(r dag.Record, all bool) {
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
			return
		}
		p.line("    ", "      ", reason.String())
	}
}
