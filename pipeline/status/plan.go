package status

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"speceval/internal/phrase"
	"speceval/pipeline/dag"
)

// textColumns is how long lines with reasons may become.
const textColumns = 160

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

// WritePlan writes, stage by stage, what will run, why and how long it takes.
func WritePlan(w io.Writer, plan *dag.Plan, m Machines) error {
	var b strings.Builder
	width := nameWidth(plan)
	for i := range plan.Stages {
		stage := &plan.Stages[i]
		fmt.Fprintf(&b, "%-*s  ", width, stage.Stage.Name)
		switch {
		case stage.Stage.Satisfied != "":
			fmt.Fprintf(&b, "nothing to run: %s\n", stage.Stage.Satisfied)
			continue
		case len(stage.Run) == 0:
			fmt.Fprintf(&b, "nothing to run: %s fresh\n", phrase.Units(stage.Fresh))
			continue
		}
		fmt.Fprintf(&b, "%d of %s to run, %s\n", len(stage.Run), phrase.Units(len(stage.Run)+stage.Fresh), m.Estimated(stage))
		var expect []string
		for _, q := range stage.Expect() {
			expect = append(expect, phrase.Scaled(q.Amount)+" "+q.Name)
		}
		if len(expect) > 0 {
			fmt.Fprintf(&b, "%*s  %s\n", width, "", strings.Join(expect, ", "))
		}
		groups := grouped(stage.Run)
		for _, g := range groups[:min(len(groups), maxGroups)] {
			count := phrase.Units(len(g.units))
			fmt.Fprintf(&b, "%*s  %s: %s\n", width, "", count, g.whyWithin(textColumns-width-len(count)-4))
		}
		if more := len(groups) - maxGroups; more > 0 {
			fmt.Fprintf(&b, "%*s  and %d more reasons: `speceval why %s`\n", width, "", more, stage.Stage.Name)
		}
	}
	switch n := plan.Units(); {
	case n == 0:
		fmt.Fprintf(&b, "%-*s  nothing to run\n", width, "total")
	case m.Elements != nil:
		fmt.Fprintf(&b, "%-*s  %s, %s\n", width, "total", phrase.Units(n), coreHours(plan.Estimate(1)))
	default:
		fmt.Fprintf(&b, "%-*s  %s, %s with -j %d\n", width, "total", phrase.Units(n), estimated(plan.Estimate(m.Workers)), m.Workers)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func nameWidth(plan *dag.Plan) int {
	width := len("total")
	for _, stage := range plan.Stages {
		width = max(width, len(stage.Stage.Name))
	}
	return width
}

// estimated is an estimate as plan shows it.
func estimated(e dag.Estimate) string {
	about := "about " + phrase.Duration(e.Seconds)
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
	switch {
	case e.Stated == 0:
		about += " by earlier runs"
	case e.Earlier == 0:
		about += " by what such units took elsewhere"
	default:
		about += fmt.Sprintf(" by earlier runs, and by what such units took elsewhere for %d", e.Stated)
	}
	if e.Unknown > 0 {
		about += fmt.Sprintf(", and %s of unknown time", phrase.Units(e.Unknown))
	}
	return about
}

// group is the units of a stage that will run for the same brief reasons.
type group struct {
	brief string
	units []dag.UnitPlan
}

// grouped puts units with the same brief reasons together, in order of first
// appearance.
func grouped(run []dag.UnitPlan) []group {
	var groups []group
	place := make(map[string]int)
	at := 0 // the group of the unit before
	for i, u := range run {
		if i == 0 || !slices.Equal(u.Reasons, run[i-1].Reasons) {
			brief := dag.Brief(u.Reasons)
			known, seen := place[brief]
			if !seen {
				known = len(groups)
				place[brief] = known
				groups = append(groups, group{brief: brief})
			}
			at = known
		}
		groups[at].units = append(groups[at].units, u)
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
	return phrase.Within(dag.Briefs(g.units[0].Reasons), columns)
}
