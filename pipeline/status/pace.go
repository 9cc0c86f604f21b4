package status

import (
	"fmt"
	"time"

	"speceval/internal/display"
	"speceval/pipeline/dag"
)

// speed is how fast work goes on that reports how much of it is done.
type speed struct {
	since time.Time // of the first report
	begun int64     // done by then
	done  int64
	total int64
}

// report takes in how much is done.
func (s *speed) report(now time.Time, done, total int64) {
	if s.since.IsZero() {
		s.since, s.begun = now, done
	}
	s.done, s.total = done, total
}

// rate is how much gets done in a second; 0 if that is not known.
func (s *speed) rate(now time.Time) float64 {
	elapsed := now.Sub(s.since).Seconds()
	if elapsed <= 0 {
		return 0
	}
	return float64(s.done-s.begun) / elapsed
}

// left is "about 1 min 2 s left", between words; empty if that is not known.
func (s *speed) left(now time.Time, before, after string) string {
	rate := s.rate(now)
	if rate <= 0 {
		return ""
	}
	return before + about(float64(s.total-s.done)/rate) + after
}

func about(seconds float64) string { return "about " + display.Duration(seconds) + " left" }

// far is "1,204/20,480 rollouts, 310/s".
func far(done, total int, what string, rate float64) string {
	text := fmt.Sprintf("%s/%s %s", display.Thousands(done), display.Thousands(total), what)
	if rate > 0 {
		text += ", " + display.Rounded(rate) + "/s"
	}
	return text
}

// over reports whether an interval is over, for another line. It is after a clock
// was set back, too: otherwise there would be none for as long as that.
func over(last, now time.Time, interval time.Duration) bool {
	since := now.Sub(last)
	return since < 0 || since >= interval
}

// pace predicts how long the rest of a plan takes, from the plan's estimate and what has
// been done.
type pace struct {
	weight      map[dag.Ref]float64 // seconds that units are expected to take
	total, done float64
	estimate    float64 // seconds of the whole plan; 0 if unknown
	start       time.Time
}

// trusted is the part of a plan after which its own pace counts, not the estimate.
const trusted = 0.1

// littleTime is the weight, in seconds, of a unit of unknown time.
const littleTime = 0.1

func newPace(plan *dag.Plan, estimate float64, start time.Time) *pace {
	p := &pace{weight: make(map[dag.Ref]float64), estimate: estimate, start: start}
	for _, stage := range plan.Stages {
		for _, r := range stage.Run {
			w := max(r.Seconds, littleTime)
			p.weight[r.Unit] = w
			p.total += w
		}
	}
	return p
}

// finish records that a unit has ended.
func (p *pace) finish(unit dag.Ref) { p.done += p.weight[unit] }

// left is the predicted time to the end.
func (p *pace) left(now time.Time) string {
	elapsed, part := now.Sub(p.start).Seconds(), p.done/p.total
	switch {
	case elapsed >= 0 && part > 0 && (part >= trusted || p.estimate == 0):
		return about(elapsed * (1 - min(1, part)) / part)
	case p.estimate > 0:
		return about(p.estimate * (1 - part))
	}
	return "time left unknown" // or the clock was set back
}
