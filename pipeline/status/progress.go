package status

import (
	"fmt"
	"slices"
	"time"

	"speceval/internal/display"
	"speceval/pipeline/dag"
)

// Run shows the progress of a run that is expected to take so many seconds (0 if
// unknown): a bar on a terminal, dated lines elsewhere, and nothing but what went wrong
// when quiet.
func (c Console) Run(plan *dag.Plan, estimate float64) dag.Observer {
	if plan.Units() == 0 {
		return dag.NoObserver{}
	}
	return &progress{view: view{Console: c}, estimate: estimate}
}

// progress shows how far a run is.
type progress struct {
	view
	estimate float64 // seconds of the whole plan; 0 if unknown
	start    time.Time
	weight   map[dag.Ref]float64 // seconds that units are expected to take
	total    float64             // of weight
	ended    float64             // of it, of units that have ended
	stage    map[string]*stageProgress
	long     map[dag.Ref]*long
	noted    map[string]bool
}

// stageProgress is how far one stage is.
type stageProgress struct {
	total, done int
	turn        // of its lines
}

// long is a unit under way that reports how far it is.
type long struct {
	dag.Progress
	speed
	turn // of its lines
}

// littleTime is the weight, in seconds, of a unit of unknown time.
const littleTime = 0.1

// Begin notes what there is to do.
func (p *progress) Begin(plan *dag.Plan) {
	p.start = p.Now()
	p.last = p.start
	p.weight, p.stage = make(map[dag.Ref]float64), make(map[string]*stageProgress)
	p.long, p.noted = make(map[dag.Ref]*long), make(map[string]bool)
	for _, s := range plan.Stages {
		p.stage[s.Stage.Name] = &stageProgress{total: len(s.Run), turn: turn{p.start}}
		for _, r := range s.Run {
			w := max(r.Seconds, littleTime)
			p.weight[r.Unit] = w
			p.total += w
		}
	}
}

// share is the part of the run's work that is done.
func (p *progress) share() float64 {
	done := p.ended
	for unit, u := range p.long {
		done += p.weight[unit] * float64(u.Done-u.Stored) / float64(max(1, u.Total-u.Stored))
	}
	return min(1, done/p.total)
}

// trusted is the part of a plan after which its own pace counts, not the estimate.
const trusted = 0.1

// timeLeft is the predicted time to the end.
func (p *progress) timeLeft(now time.Time) string {
	elapsed, share := now.Sub(p.start).Seconds(), p.share()
	switch {
	case elapsed >= 0 && share > 0 && (share >= trusted || p.estimate == 0):
		return about(elapsed * (1 - share) / share)
	case p.estimate > 0:
		return about(p.estimate * (1 - share))
	}
	return "time left unknown" // or the clock was set back
}

// redraw shows which stage is at work on a terminal, and how far its long units are
// together.
func (p *progress) redraw(stage string, now time.Time) {
	if !p.Terminal || p.Quiet {
		return
	}
	var sum dag.Progress
	rate := 0.0
	for _, u := range p.long {
		sum.Done, sum.Total, sum.What, rate = sum.Done+u.Done, sum.Total+u.Total, u.What, rate+u.rate(now)
	}
	text := bar(p.share()) + stage
	if sum.What != "" {
		text += " " + far(sum, rate)
	}
	p.draw(text + ", " + p.timeLeft(now))
}

// far is "1,204/20,480 rollouts, 310/s".
func far(p dag.Progress, rate float64) string {
	text := fmt.Sprintf("%s/%s %s", display.Thousands(p.Done), display.Thousands(p.Total), p.What)
	if rate > 0 {
		text += ", " + display.Rounded(rate) + "/s"
	}
	return text
}

// Started shows which stage is at work.
func (p *progress) Started(unit dag.Ref, _ string) { p.redraw(unit.Stage, p.Now()) }

// Advanced moves the bar by a part of a unit, or writes a line about it at intervals.
func (p *progress) Advanced(unit dag.Ref, of dag.Progress) {
	now, u := p.Now(), p.long[unit]
	if u == nil {
		u = new(long)
		p.long[unit] = u
	}
	u.Progress = of
	u.report(now, float64(of.Done), float64(of.Total))
	if p.due(now, drawInterval) {
		p.redraw(unit.Stage, now)
	}
	if u.due(now, lineInterval) && !p.Terminal && !p.Quiet {
		text := unit.String() + " " + far(of, u.rate(now))
		if of.Detail != "" {
			text += ", " + of.Detail
		}
		p.write(text + u.left(now))
	}
}

// fewUnits is how many units of a stage get a line each. Of more, lines come at
// intervals.
const fewUnits = 20

// Finished moves the bar, or writes a line if the unit is one of few or the last of its
// stage, or if the stage has not had a line for some time. Failures have a line each, and
// so have notes that no other unit has left.
func (p *progress) Finished(done dag.Outcome) {
	s, m, now := p.stage[done.Unit.Stage], done.Manifest, p.Now()
	p.ended += p.weight[done.Unit]
	delete(p.long, done.Unit)
	p.redraw(done.Unit.Stage, now)
	if done.Err != nil {
		if !p.Quiet {
			p.write(done.Unit.String() + " failed")
		}
		return
	}
	for _, note := range m.Notes {
		if !p.noted[note] {
			p.noted[note] = true
			p.write(fmt.Sprintf("%s: %s", done.Unit, note))
		}
	}
	s.done++
	if few := s.total <= fewUnits || s.done == s.total; !p.Terminal && !p.Quiet && (few || s.due(now, lineInterval)) {
		where := ""
		if m.Queue != nil {
			where = fmt.Sprintf(" on %s as job %s after %s in the queue", m.Host, m.Job, display.Duration(m.QueueSeconds))
		}
		p.write(fmt.Sprintf("%s %d/%d, %s in %s%s, %s", done.Unit.Stage, s.done, s.total, done.Unit.Unit, display.Duration(m.WallSeconds), where, p.timeLeft(now)))
	}
}

// End takes the bar away, and reports how far the long units are that did not finish; the
// run's summary follows.
func (p *progress) End() {
	p.view.End()
	var lines []string
	for unit, u := range p.long {
		lines = append(lines, fmt.Sprintf("%s: %s of %s %s are stored, and the next run goes on from there", unit, display.Thousands(u.Done), display.Thousands(u.Total), u.What))
	}
	slices.Sort(lines)
	for _, line := range lines {
		if !p.Quiet {
			p.write(line)
		}
	}
}
