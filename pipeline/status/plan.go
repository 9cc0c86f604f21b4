package status

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"speceval/internal/display"
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
			fmt.Fprintf(&b, "nothing to run: %s fresh\n", display.Units(stage.Fresh))
			continue
		}
		fmt.Fprintf(&b, "%d of %s to run, %s\n", len(stage.Run), display.Units(len(stage.Run)+stage.Fresh), m.Estimated(stage))
		var expect []string
		for _, q := range stage.Expect() {
			expect = append(expect, display.Scaled(q.Amount)+" "+q.Name)
		}
		if len(expect) > 0 {
			fmt.Fprintf(&b, "%*s  %s\n", width, "", strings.Join(expect, ", "))
		}
		groups := grouped(stage.Run)
		for _, g := range groups[:min(len(groups), maxGroups)] {
			count := display.Units(len(g.units))
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
		fmt.Fprintf(&b, "%-*s  %s, %s\n", width, "total", display.Units(n), coreHours(plan.Estimate(1)))
	default:
		fmt.Fprintf(&b, "%-*s  %s, %s with -j %d\n", width, "total", display.Units(n), estimated(plan.Estimate(m.Workers)), m.Workers)
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
	switch {
	case e.Stated == 0:
		about += " by earlier runs"
	case e.Earlier == 0:
		about += " by what such units took elsewhere"
	default:
		about += fmt.Sprintf(" by earlier runs, and by what such units took elsewhere for %d", e.Stated)
	}
	if e.Unknown > 0 {
		about += fmt.Sprintf(", and %s of unknown time", display.Units(e.Unknown))
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
	for _, u := range run {
		brief := dag.Brief(u.Reasons)
		at, seen := place[brief]
		if !seen {
			at = len(groups)
			place[brief] = at
			groups = append(groups, group{brief: brief})
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
	return display.Within(dag.Briefs(g.units[0].Reasons), columns)
}

// Running are the long units under way: those that report how far they are.
type Running map[dag.Ref]*Long

// Long is a long unit.
type Long struct {
	dag.Progress
	first time.Time // of the first report
	begun int       // done by then
	last  time.Time // of the last line written
}

// Note takes a report of a unit.
func (l Running) Note(unit dag.Ref, p dag.Progress, now time.Time) *Long {
	u := l[unit]
	if u == nil {
		u = &Long{first: now, begun: p.Done, last: now}
		l[unit] = u
	}
	u.Progress = p
	return u
}

// Unfinished says of each unit that the next run resumes it.
func (l Running) Unfinished() []string {
	var lines []string
	for unit, u := range l {
		lines = append(lines, fmt.Sprintf("%s: %s of %s %s are stored, and the next run goes on from there", unit, display.Thousands(u.Done), display.Thousands(u.Total), u.What))
	}
	slices.Sort(lines)
	return lines
}

// Due reports whether a line should be written now, the interval after the last,
// and records that it was.
func (u *Long) Due(now time.Time, interval time.Duration) bool {
	if !Over(u.last, now, interval) {
		return false
	}
	u.last = now
	return true
}

// Part is how much of the unit is done, from 0 to 1.
func (u *Long) Part() float64 {
	if u.Total <= 0 {
		return 0
	}
	return min(1, float64(u.Done)/float64(u.Total))
}

// Text is "1,204/20,480 rollouts, 310/s, 1.2 M tokens, about 1 min 2 s left".
func (u *Long) Text(now time.Time) string {
	parts := []string{fmt.Sprintf("%s/%s %s", display.Thousands(u.Done), display.Thousands(u.Total), u.What)}
	rate := u.rate(now)
	if rate > 0 {
		parts = append(parts, display.Rounded(rate)+"/s")
	}
	if u.Detail != "" {
		parts = append(parts, u.Detail)
	}
	if rate > 0 {
		parts = append(parts, "about "+display.Duration(float64(u.Total-u.Done)/rate)+" left")
	}
	return strings.Join(parts, ", ")
}

// rate is how much gets done in a second.
func (u *Long) rate(now time.Time) float64 {
	elapsed := now.Sub(u.first).Seconds()
	if elapsed <= 0 {
		return 0
	}
	return float64(u.Done-u.begun) / elapsed
}

// Together is how far all are, in few words: "1,204/20,480 rollouts, 310/s".
func (l Running) Together(now time.Time) string {
	var done, total int
	var rate float64
	what := ""
	for _, u := range l {
		done, total, rate, what = done+u.Done, total+u.Total, rate+u.rate(now), u.What
	}
	text := fmt.Sprintf("%s/%s %s", display.Thousands(done), display.Thousands(total), what)
	if rate > 0 {
		text += ", " + display.Rounded(rate) + "/s"
	}
	return text
}

// Over reports whether an interval is over, for another line. It is after a clock
// was set back, too: otherwise there would be none for as long as that.
func Over(last, now time.Time, interval time.Duration) bool {
	since := now.Sub(last)
	return since < 0 || since >= interval
}

// Pace predicts how long the rest of a plan takes, from what has been done and
// how long the units took earlier.
type Pace struct {
	weight      map[dag.Ref]float64 // what a unit counts for
	total, done float64
	start       time.Time
}

// NewPace is the pace of a plan of which nothing has been done.
func NewPace(plan *dag.Plan, start time.Time) *Pace {
	p := &Pace{weight: make(map[dag.Ref]float64), start: start}
	known := true
	for _, stage := range plan.Stages {
		for _, u := range stage.Run {
			known = known && u.Seconds > 0
		}
	}
	for _, stage := range plan.Stages {
		for _, u := range stage.Run {
			p.weight[u.Ref] = 1
			if known {
				p.weight[u.Ref] = u.Seconds
			}
			p.total += p.weight[u.Ref]
		}
	}
	return p
}

// Finish records that a unit has ended.
func (p *Pace) Finish(unit dag.Ref) { p.done += p.weight[unit] }

// Left is the predicted time to the end.
func (p *Pace) Left(now time.Time) string {
	if p.done == 0 {
		return "time left unknown"
	}
	elapsed := now.Sub(p.start).Seconds()
	if elapsed < 0 {
		return "time left unknown" // the clock was set back
	}
	return "about " + display.Duration(elapsed*max(0, p.total-p.done)/p.done) + " left"
}
