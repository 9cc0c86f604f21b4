package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"speceval/internal/phrase"
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
		lines = append(lines, fmt.Sprintf("%s: %s of %s %s are stored, and the next run goes on from there", unit, phrase.Thousands(u.Done), phrase.Thousands(u.Total), u.What))
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
	parts := []string{fmt.Sprintf("%s/%s %s", phrase.Thousands(u.Done), phrase.Thousands(u.Total), u.What)}
	rate := u.rate(now)
	if rate > 0 {
		parts = append(parts, phrase.Rounded(rate)+"/s")
	}
	if u.Detail != "" {
		parts = append(parts, u.Detail)
	}
	if rate > 0 {
		parts = append(parts, "about "+phrase.Duration(float64(u.Total-u.Done)/rate)+" left")
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
	text := fmt.Sprintf("%s/%s %s", phrase.Thousands(done), phrase.Thousands(total), what)
	if rate > 0 {
		text += ", " + phrase.Rounded(rate) + "/s"
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
	return "about " + phrase.Duration(elapsed*max(0, p.total-p.done)/p.done) + " left"
}
