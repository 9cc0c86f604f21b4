package status

import (
	"fmt"
	"slices"
	"time"

	"speceval/internal/terminal/display"
	"speceval/internal/terminal/progress"
	"speceval/pipeline/dag"
)

// Run shows how far a run is: by a bar on a terminal, by dated lines elsewhere, and by
// nothing but what went wrong when quiet.
type Run struct {
	progress.View
	estimate float64 // seconds of the whole plan; 0 if unknown
	start    time.Time
	seconds  map[dag.Ref]float64 // that units are expected to take; negative if unknown
	total    float64             // of seconds
	ended    float64             // of it, of units that have ended
	unknown  int                 // units left of unknown time, beside others of known time
	stage    map[string]*stageProgress
	long     map[dag.Ref]*long
	noted    map[string]bool
}

// stageProgress is how far one stage is.
type stageProgress struct {
	total, done   int
	progress.Turn // of its lines
}

// long is a unit under way that reports how far it is.
type long struct {
	dag.Progress
	progress.Speed
	progress.Turn // of its lines
}

// weight is the part of the work that a unit is, in seconds; of unknown time it is little.
func (p *Run) weight(unit dag.Ref) float64 { return max(p.seconds[unit], 0.1) }

// NewRun begins to show a run of a plan that is expected to take a number of seconds; 0 if
// unknown.
func NewRun(c progress.Console, plan *dag.Plan, estimate float64) *Run {
	p := &Run{
		View: progress.View{Console: c}, estimate: estimate, start: c.Now(),
		seconds: make(map[dag.Ref]float64), stage: make(map[string]*stageProgress), long: make(map[dag.Ref]*long), noted: make(map[string]bool),
	}
	p.Due(p.start, 0)
	begun := p.Turn
	for _, s := range plan.Stages {
		p.stage[s.Stage.Name] = &stageProgress{total: len(s.Run), Turn: begun}
		for _, r := range s.Run {
			p.seconds[r.Unit] = r.Seconds
			p.total += p.weight(r.Unit)
		}
		p.unknown += s.Estimate(1).Unknown
	}
	if p.unknown == plan.Units() { // all count alike, and their pace is known soon
		p.unknown = 0
	}
	return p
}

// share is the part of the run's work that is done.
func (p *Run) share() float64 {
	done := p.ended
	for unit, u := range p.long {
		done += p.weight(unit) * float64(u.Done-u.Stored) / float64(max(1, u.Total-u.Stored))
	}
	return min(1, done/p.total)
}

// timeLeft is the predicted time to the end.
func (p *Run) timeLeft(now time.Time) string {
	const trusted = 0.1 // part of a plan after which its own pace counts, not the estimate
	elapsed, share := now.Sub(p.start).Seconds(), p.share()
	switch {
	case p.unknown > 0:
	case elapsed >= 0 && share > 0 && (share >= trusted || p.estimate == 0):
		return progress.About(elapsed * (1 - share) / share)
	case p.estimate > 0:
		return progress.About(p.estimate * (1 - share))
	}
	return "time left unknown" // also where the clock was set back
}

// redraw shows which stage is at work on a terminal, and how far its long units are
// together.
func (p *Run) redraw(stage string, now time.Time) {
	if !p.Terminal || p.Quiet {
		return
	}
	var sum dag.Progress
	rate := 0.0
	for _, u := range p.long {
		sum.Done, sum.Total, sum.What, rate = sum.Done+u.Done, sum.Total+u.Total, u.What, rate+u.Rate(now)
	}
	text := stage
	if sum.What != "" {
		text += " " + far(sum, rate)
	}
	p.DrawBar(p.share(), text+", "+p.timeLeft(now))
}

// far is "1,204/20,480 rollouts, 310/s".
func far(p dag.Progress, rate float64) string {
	text := fmt.Sprintf("%s/%s %s", display.Thousands(p.Done), display.Thousands(p.Total), p.What)
	if rate > 0 {
		text += ", " + display.Rounded(rate) + "/s"
	}
	return text
}

// Observe shows what an event changes.
func (p *Run) Observe(e dag.Event) {
	now := p.Now()
	switch {
	case e.Progress != nil:
		p.advance(e.Unit, *e.Progress, now)
		return
	case e.Err != nil || e.Manifest != nil:
		p.ended += p.weight(e.Unit)
		delete(p.long, e.Unit)
		if p.seconds[e.Unit] < 0 {
			p.unknown--
		}
	}
	p.redraw(e.Unit.Stage, now)
	switch {
	case e.Err == nil && e.Manifest != nil:
		p.finish(e.Unit, e.Manifest, now)
	case e.Err != nil && !p.Quiet:
		p.Write(e.Unit.String() + " failed")
	}
}

// advance moves the bar by a part of a unit, or writes a line about it at intervals.
func (p *Run) advance(unit dag.Ref, of dag.Progress, now time.Time) {
	u := p.long[unit]
	if u == nil {
		u = new(long)
		p.long[unit] = u
	}
	u.Progress = of
	u.Report(now, float64(of.Done), float64(of.Total))
	if p.Due(now, progress.DrawInterval) {
		p.redraw(unit.Stage, now)
	}
	if u.Due(now, progress.LineInterval) && !p.Terminal && !p.Quiet {
		text := unit.String() + " " + far(of, u.Rate(now))
		if of.Detail != "" {
			text += ", " + of.Detail
		}
		p.Write(text + u.Left(now))
	}
}

// finish writes the notes of a unit that no other unit has left, and a line if the unit is one
// of few or the last of its stage, or if the stage has not had a line for some time.
func (p *Run) finish(unit dag.Ref, m *dag.Manifest, now time.Time) {
	const fewUnits = 20 // units of a stage get a line each; of more, lines come at intervals
	s := p.stage[unit.Stage]
	for _, note := range m.Notes {
		if !p.noted[note] {
			p.noted[note] = true
			p.Write(fmt.Sprintf("%s: %s", unit, note))
		}
	}
	s.done++
	if few := s.total <= fewUnits || s.done == s.total; !p.Terminal && !p.Quiet && (few || s.Due(now, progress.LineInterval)) {
		where := ""
		if m.Queue != nil {
			where = fmt.Sprintf(" on %s as job %s after %s in the queue", m.Host, m.Job, display.Duration(m.QueueSeconds))
		}
		p.Write(fmt.Sprintf("%s %d/%d, %s in %s%s, %s", unit.Stage, s.done, s.total, unit.Unit, display.Duration(m.WallSeconds), where, p.timeLeft(now)))
	}
}

// End takes the bar away, and reports how far the long units are that did not finish; the
// run's summary follows.
func (p *Run) End() {
	p.View.End()
	var lines []string
	for unit, u := range p.long {
		lines = append(lines, fmt.Sprintf("%s: %s of %s %s are stored, and the next run goes on from there", unit, display.Thousands(u.Done), display.Thousands(u.Total), u.What))
	}
	slices.Sort(lines)
	for _, line := range lines {
		if !p.Quiet {
			p.Write(line)
		}
	}
}
