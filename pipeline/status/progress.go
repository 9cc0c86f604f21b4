package status

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"speceval/internal/display"
	"speceval/internal/evaluation"
	"speceval/pipeline/dag"
)

// Progress of long work is shown as bars on a terminal, and elsewhere as dated lines at
// intervals.

// Console is where progress is shown.
type Console struct {
	W        io.Writer // for lines
	Bars     io.Writer // for bars, which move the cursor; nil: W
	Now      func() time.Time
	Terminal bool // W can show bars
	Quiet    bool // only what went wrong
}

// bars is where bars are drawn.
func (c Console) bars() io.Writer {
	if c.Bars == nil {
		return c.W
	}
	return c.Bars
}

// Dated is a moment as lines begin with it.
func Dated(t time.Time) string { return t.Format(time.RFC3339) }

// lineInterval is the time between two lines about the same work.
const lineInterval = 5 * time.Second

// Evaluation shows how far an evaluation is: a bar on a terminal, a dated
// line now and then elsewhere.
type Evaluation struct {
	Console
	bar  *progressbar.ProgressBar // nil: none yet
	last time.Time                // of the last line, or of the first call
}

// Show hears of progress every second.
func (v *Evaluation) Show(p evaluation.Progress) {
	what := fmt.Sprintf("pilot %d of %d", p.Pilots, p.AllPilots)
	if p.AllContinuations > 0 {
		what += fmt.Sprintf(", continuations %d", p.Continuations)
		if p.Pilots == p.AllPilots {
			what = fmt.Sprintf("continuations %d of %d", min(p.Continuations, p.AllContinuations), p.AllContinuations)
		}
	}
	what += fmt.Sprintf(", %d under way", p.UnderWay)
	if p.Scoring > 0 {
		what += fmt.Sprintf(", %d to be scored", p.Scoring)
	}
	now := v.Now()
	if v.last.IsZero() {
		v.last = now
	}
	switch {
	case v.Quiet:
	case v.Terminal:
		if v.bar == nil {
			v.bar = progressbar.NewOptions(p.AllPilots+p.AllContinuations,
				progressbar.OptionSetWriter(v.bars()), progressbar.OptionSetWidth(30),
				progressbar.OptionSetPredictTime(true), progressbar.OptionClearOnFinish())
		}
		v.bar.Describe(what)
		v.bar.Set(min(p.Pilots+p.Continuations, p.AllPilots+p.AllContinuations))
	case Over(v.last, now, lineInterval):
		v.last = now
		fmt.Fprintln(v.W, Dated(now), what)
	}
}

// End takes the bar away.
func (v *Evaluation) End() {
	if v.bar != nil {
		v.bar.Exit()
	}
}

// Transfer shows how far a file is: a bar on a terminal, dated lines elsewhere.
type Transfer struct {
	name     string
	bar      *progressbar.ProgressBar // nil: lines
	say      func(text string)
	now      func() time.Time
	began    time.Time
	at       int64 // bytes when it began
	lastLine time.Time
	started  bool
}

// Transfer begins to show how far the file of a name is; say writes a line.
func (c Console) Transfer(name string, say func(text string)) *Transfer {
	t := &Transfer{name: name, now: c.Now, say: say}
	if c.Terminal && !c.Quiet {
		t.bar = progressbar.NewOptions64(-1,
			progressbar.OptionSetWriter(c.bars()), progressbar.OptionSetDescription(display.EscapedLine(name)), progressbar.OptionShowBytes(true),
			progressbar.OptionSetWidth(30), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(),
		)
	}
	return t
}

// Progress takes in how far the file is.
func (t *Transfer) Progress(done, total int64) {
	now := t.now()
	if !t.started {
		t.started, t.began, t.lastLine, t.at = true, now, now, done
	}
	if t.bar != nil {
		t.bar.ChangeMax64(max(total, done))
		t.bar.Set64(done)
		return
	}
	if now.Sub(t.lastLine) < lineInterval {
		return
	}
	t.lastLine = now
	rate := float64(done-t.at) / now.Sub(t.began).Seconds()
	left := ""
	if rate > 0 && total > done {
		left = ", about " + display.Duration(float64(total-done)/rate) + " left"
	}
	t.say(fmt.Sprintf("%s %s of %s, %.1f MB/s%s", t.name, display.Megabytes(done), display.Megabytes(total), rate/1e6, left))
}

// End takes the bar away.
func (t *Transfer) End() {
	if t.bar != nil {
		t.bar.Finish()
	}
}

// Run shows the progress of a run: a bar on a terminal, dated lines elsewhere, and
// nothing but what went wrong when quiet.
func (c Console) Run(plan *dag.Plan) dag.Observer {
	switch {
	case plan.Units() == 0:
		return dag.NoObserver{}
	case c.Quiet:
		return &quiet{w: c.W}
	case c.Terminal:
		return &bar{w: c.W, bars: c.bars(), now: c.Now}
	}
	return &lines{w: c.W, now: c.Now}
}

// quiet reports files moved aside only. Failures are listed when the run
// ends.
type quiet struct {
	dag.NoObserver
	w io.Writer
}

// Finished reports files that the unit found and kept.
func (q *quiet) Finished(done dag.Outcome) {
	for _, note := range notes(done) {
		fmt.Fprintln(q.w, note)
	}
}

// notes are the lines that an outcome is worth in any mode.
func notes(done dag.Outcome) []string {
	if done.Manifest == nil {
		return nil
	}
	var all []string
	for _, note := range done.Manifest.Notes {
		all = append(all, fmt.Sprintf("%s: %s", done.Unit, note))
	}
	return all
}

// bar shows progress as one bar for all units, on a terminal. It has no
// colours.
type bar struct {
	w    io.Writer // for lines
	bars io.Writer
	now  func() time.Time
	bar  *progressbar.ProgressBar
	done int // units
	long Running
}

// steps is how finely the bar shows a part of a unit.
const steps = 1000

var _ dag.Observer = (*bar)(nil)

// Begin draws the empty bar.
func (b *bar) Begin(plan *dag.Plan) {
	b.long = Running{}
	b.bar = progressbar.NewOptions(plan.Units()*steps,
		progressbar.OptionSetWriter(b.bars),
		progressbar.OptionSetWidth(30),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
	)
}

// Started shows which stage is at work.
func (b *bar) Started(unit dag.Ref, _ string) { b.bar.Describe(unit.Stage) }

// Advanced moves the bar by a part of a unit, and shows how far the long ones
// are.
func (b *bar) Advanced(unit dag.Ref, p dag.Progress) {
	now := b.now()
	b.long.Note(unit, p, now)
	b.bar.Describe(unit.Stage + " " + b.long.Together(now))
	b.show()
}

// show sets the bar to the units done and the parts of those under way.
func (b *bar) show() {
	parts := 0.0
	for _, u := range b.long {
		parts += u.Part()
	}
	b.bar.Set(b.done*steps + int(parts*steps))
}

// Finished moves the bar. Failures and notes get a line above it.
func (b *bar) Finished(done dag.Outcome) {
	above := notes(done)
	if done.Err != nil {
		above = append(above, done.Unit.String()+" failed")
	}
	if len(above) > 0 {
		b.bar.Clear()
		for _, line := range above {
			fmt.Fprintln(b.w, line)
		}
	}
	b.done++
	delete(b.long, done.Unit)
	b.show()
}

// End removes the bar, and reports how far the long units are that did not
// finish.
func (b *bar) End() {
	b.bar.Exit()
	for _, line := range b.long.Unfinished() {
		fmt.Fprintln(b.w, line)
	}
}

// fewUnits is how many units of a stage get a line each. Of more, lines come at
// intervals.
const fewUnits = 20

// lines shows progress as dated lines, for logs.
type lines struct {
	w     io.Writer
	now   func() time.Time
	pace  *Pace
	stage map[string]*stageLines
	long  Running
}

// stageLines is how far one stage is.
type stageLines struct {
	total, done, failed int
	last                time.Time // of the last line
}

var _ dag.Observer = (*lines)(nil)

// Begin notes what there is to do.
func (l *lines) Begin(plan *dag.Plan) {
	start := l.now()
	l.pace = NewPace(plan, start)
	l.stage = make(map[string]*stageLines)
	l.long = Running{}
	for _, s := range plan.Stages {
		l.stage[s.Stage.Name] = &stageLines{total: len(s.Run), last: start}
	}
}

// Started says nothing.
func (l *lines) Started(dag.Ref, string) {}

// Advanced writes a line about a long unit, at intervals.
func (l *lines) Advanced(unit dag.Ref, p dag.Progress) {
	now := l.now()
	if u := l.long.Note(unit, p, now); u.Due(now, lineInterval) {
		fmt.Fprintf(l.w, "%s %s %s\n", Dated(now), unit, u.Text(now))
	}
}

// Finished writes a line if the unit failed, is one of few or the last of its
// stage, or if the stage has not had a line for some time.
func (l *lines) Finished(done dag.Outcome) {
	s, now := l.stage[done.Unit.Stage], l.now()
	l.pace.Finish(done.Unit)
	delete(l.long, done.Unit)
	for _, note := range notes(done) {
		fmt.Fprintln(l.w, Dated(now), note)
	}
	if done.Err != nil {
		s.failed++
		fmt.Fprintln(l.w, Dated(now), done.Unit, "failed")
		return
	}
	s.done++
	if s.total > fewUnits && s.done+s.failed < s.total && !Over(s.last, now, lineInterval) {
		return
	}
	s.last = now
	fmt.Fprintf(l.w, "%s %s %d/%d, %s in %s%s, %s\n", Dated(now), done.Unit.Stage, s.done, s.total,
		done.Unit.Unit, display.Duration(done.Manifest.WallSeconds), elsewhere(done.Manifest), l.pace.Left(now))
}

// elsewhere says where a unit ran that had to wait for a machine, and how long it
// waited: " on n1 as job 12_3 after 40 s in the queue"; empty for any other.
func elsewhere(m *dag.Manifest) string {
	if m.Queue == nil {
		return ""
	}
	return fmt.Sprintf(" on %s as job %s after %s in the queue", m.Host, m.Job, display.Duration(m.QueueSeconds))
}

// End reports how far the long units are that did not finish; the run's summary
// follows.
func (l *lines) End() {
	for _, line := range l.long.Unfinished() {
		fmt.Fprintln(l.w, Dated(l.now()), line)
	}
}
