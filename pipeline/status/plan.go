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

// room is the columns that a text may take behind so many others.
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

// maxGroups bounds the reasons that plan shows of a stage.
const maxGroups = 8

// Machines are what a plan's estimates are for.
type Machines struct {
	Workers  int                // units at a time on this machine
	Elements map[string]float64 // seconds of an element of a job array on one core, by the stages that run in jobs; nil: none does
}

// Estimated is how long the units of a stage will take where they run.
func (m Machines) Estimated(stage *dag.StagePlan) string {
	perElement, inJobs := m.Elements[stage.Stage.Name]
	if !inJobs {
		return estimated(stage.Estimate(m.Workers))
	}
	e := stage.Estimate(1)
	known := len(stage.Run) - e.Unknown
	elements := e.Unknown + min(known, int(math.Ceil(e.Seconds/max(perElement, 1))))
	if elements == 1 {
		return coreHours(e) + ", in about 1 element of a job array"
	}
	return fmt.Sprintf("%s, in about %d elements of job arrays", coreHours(e), elements)
}

// Seconds is how long the whole plan takes here; 0 where jobs run it, as long as they do.
func (m Machines) Seconds(plan *dag.Plan) float64 {
	if m.Elements != nil {
		return 0
	}
	return plan.Estimate(m.Workers).Seconds
}

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
		first := fmt.Sprintf("%-*s", width, stage.Stage.Name)
		switch {
		case stage.Stage.Satisfied != "":
			p.line(first, indent, "nothing to run: "+stage.Stage.Satisfied)
			continue
		case len(stage.Run) == 0:
			p.line(first, indent, fmt.Sprintf("nothing to run: %s fresh", display.Units(stage.Fresh)))
			continue
		}
		p.line(first, indent, fmt.Sprintf("%d of %s to run, %s", len(stage.Run), display.Units(len(stage.Run)+stage.Fresh), m.Estimated(stage)))
		var expect []string
		for _, q := range stage.Expect() {
			expect = append(expect, display.Scaled(q.Amount)+" "+q.Name)
		}
		if len(expect) > 0 {
			p.line(indent, indent+"  ", strings.Join(expect, ", "))
		}
		groups := grouped(stage.Run)
		for _, g := range groups[:min(len(groups), maxGroups)] {
			count := display.Units(len(g.units)) + ": "
			p.line(indent, indent+"  ", count+g.whyWithin(p.room(width+len(count))))
		}
		if more := len(groups) - maxGroups; more > 0 {
			p.line(indent, indent+"  ", fmt.Sprintf("and %d more reasons: `speceval why %s`", more, stage.Stage.Name))
		}
		for _, note := range shared(stage) {
			p.line(indent, indent+"  ", note)
		}
	}
	total := fmt.Sprintf("%-*s", width, "total")
	switch n := plan.Units(); {
	case n == 0:
		p.line(total, indent, "nothing to run")
	case m.Elements != nil:
		p.line(total, indent, fmt.Sprintf("%s, %s", display.Units(n), coreHours(plan.Estimate(1))))
	default:
		p.line(total, indent, fmt.Sprintf("%s, %s with -j %d", display.Units(n), estimated(plan.Estimate(m.Workers)), m.Workers))
	}
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

// estimated is an estimate as plan shows it.
func estimated(e dag.Estimate) string {
	about := "about " + display.Duration(e.Seconds)
	if e.Seconds < 1 {
		about = "less than 1 s"
	}
	return grounded(e, about)
}

// coreHours is an estimate for one core as plan shows it where jobs run.
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

// group is the units of a stage that will run for the same brief reasons.
type group struct {
	brief string
	units []dag.Record
}

// grouped puts units with the same brief reasons together, in order of first
// appearance.
func grouped(run []dag.Record) []group {
	var groups []group
	place := make(map[string]int)
	for _, r := range run {
		brief := dag.Brief(r.Reasons)
		at, seen := place[brief]
		if !seen {
			at = len(groups)
			place[brief] = at
			groups = append(groups, group{brief: brief})
		}
		groups[at].units = append(groups[at].units, r)
	}
	return groups
}

// why is the group's reasons: in full if it is one unit's, in brief otherwise.
func (g group) why() string {
	if len(g.units) > 1 {
		return g.brief
	}
	return dag.Explain(g.units[0].Reasons)
}

// whyWithin is why in so many columns at most: what does not fit is counted.
func (g group) whyWithin(columns int) string {
	if why := g.why(); utf8.RuneCountInString(why) <= columns {
		return why
	}
	return display.Within(dag.Briefs(g.units[0].Reasons), columns)
}

// How many units of a group, and how many reasons of a unit, why shows unless
// asked for all.
const (
	someUnits   = 5
	someReasons = 8
)

// WriteWhy writes why the units of a stage are not fresh: some units and reasons
// of each group, or all; columns as for WritePlan.
func WriteWhy(w io.Writer, stage *dag.StagePlan, m Machines, all bool, columns int) error {
	p := &page{columns: columns}
	switch name := stage.Stage.Name; {
	case stage.Stage.Satisfied != "":
		p.line("", "  ", fmt.Sprintf("%s has nothing to run: %s", name, stage.Stage.Satisfied))
	case len(stage.Run) == 0:
		p.line("", "  ", fmt.Sprintf("%s is fresh: %s", name, display.Units(stage.Fresh)))
	default:
		p.line("", "  ", fmt.Sprintf("%s: %d of %s not fresh, a run takes %s", name, len(stage.Run), display.Units(len(stage.Run)+stage.Fresh), m.Estimated(stage)))
		for _, note := range shared(stage) {
			p.line("", "  ", note)
		}
		for _, g := range grouped(stage.Run) {
			p.group(g, name, all)
		}
	}
	return p.write(w)
}

func (p *page) group(g group, stage string, all bool) {
	p.line("\n"+display.Units(len(g.units))+": ", "  ", g.brief)
	for i, r := range g.units {
		if i == someUnits && !all {
			p.line("  ", "    ", fmt.Sprintf("and %d more: `speceval why %s --all`", len(g.units)-i, stage))
			return
		}
		before := ""
		if r.Last != nil {
			before = r.Last.Key
		}
		p.line("  ", "    ", fmt.Sprintf("%s  key %s → %s", r.Unit.Unit, keyText(before, "(none)"), keyText(r.Key, "(depends on inputs to be made)")))
		for k, reason := range r.Reasons {
			if k == someReasons && !all {
				p.line("    ", "      ", fmt.Sprintf("and %d more reasons", len(r.Reasons)-k))
				break
			}
			p.line("    ", "      ", reason.String())
		}
	}
}

// keyText is enough of a key for `speceval unit`.
func keyText(key, without string) string {
	if key == "" {
		return without
	}
	return key[:16]
}
