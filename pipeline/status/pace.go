package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"speceval/internal/display"
	"speceval/pipeline/dag"
)

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
		parts = append(parts, about(float64(u.Total-u.Done)/rate))
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

// Pace predicts how long the rest of a plan takes, from the plan's estimate and what has
// been done.
type Pace struct {
	weight      map[dag.Ref]float64 // seconds that units are expected to take
	total, done float64
	estimate    float64 // seconds of the whole plan; 0 if unknown
	start       time.Time
}

// trusted is the part of a plan after which its own pace counts, not the estimate.
const trusted = 0.1

// littleTime is the weight, in seconds, of a unit of unknown time.
const littleTime = 0.1

// NewPace is the pace of a plan of which nothing has been done, and that is expected to
// take so many seconds; 0 if unknown.
func NewPace(plan *dag.Plan, estimate float64, start time.Time) *Pace {
	p := &Pace{weight: make(map[dag.Ref]float64), estimate: estimate, start: start}
	for _, stage := range plan.Stages {
		for _, r := range stage.Run {
			w := max(r.Seconds, littleTime)
			p.weight[r.Unit] = w
			p.total += w
		}
	}
	return p
}

// Finish records that a unit has ended.
func (p *Pace) Finish(unit dag.Ref) { p.done += p.weight[unit] }

// Left is the predicted time to the end.
func (p *Pace) Left(now time.Time) string {
	elapsed, part := now.Sub(p.start).Seconds(), p.done/p.total
	switch {
	case elapsed >= 0 && part > 0 && (part >= trusted || p.estimate == 0):
		return about(elapsed * (1 - min(1, part)) / part)
	case p.estimate > 0:
		return about(p.estimate * (1 - part))
	}
	return "time left unknown" // or the clock was set back
}

func about(seconds float64) string { return "about " + display.Duration(seconds) + " left" }
