package status

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"

	"speceval/internal/display"
	"speceval/internal/evaluation"
	"speceval/internal/table"
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
	Columns  int  // of the terminal; 0: unknown
	Quiet    bool // only what went wrong
}

// Dated is a moment as lines begin with it.
func Dated(t time.Time) string { return t.Format(time.RFC3339) }

// lineInterval is the time between two lines about the same work.
const lineInterval = 5 * time.Second

// The parts of a bar's line besides its text and the bar itself.
const (
	usualColumns = 80 // of a terminal that does not say
	barColumns   = 30
	barFrame     = len(" 100% || ") + 1 // the last column stays empty, or terminals begin another line
	leastBar     = 8
)

// often is the time between two drawings of what moves all the time.
const often = 100 * time.Millisecond

// meter is a bar in one line of a terminal, however narrow.
type meter struct {
	*progressbar.ProgressBar
	text int // columns for it
}

// meter begins a bar of total steps, drawn again after a time at the earliest.
func (c Console) meter(total int64, again time.Duration) *meter {
	columns, w := cmp.Or(c.Columns, usualColumns), cmp.Or(c.Bars, c.W)
	width := max(leastBar, min(barColumns, (columns-barFrame)/5))
	return &meter{progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(w), progressbar.OptionSetWidth(width), progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetElapsedTime(false), progressbar.OptionThrottle(again), progressbar.OptionClearOnFinish(),
	), max(0, columns-barFrame-width)}
}

// Describe sets the text before the bar, cut to the line.
func (m *meter) Describe(text string) {
	if utf8.RuneCountInString(text) > m.text {
		text = string([]rune(text)[:max(0, m.text-1)]) + "…"
	}
	m.ProgressBar.Describe(text)
}

// work shows how far long work is: a bar on a terminal, a dated line now and then
// elsewhere.
type work struct {
	Console
	speed
	again time.Duration // see meter
	bar   *meter        // nil: none yet
	last  time.Time     // of the last line; zero before the first call
}

func (v *work) show(now time.Time, what string) {
	if v.last.IsZero() {
		v.last = now
	}
	switch {
	case v.Quiet:
	case v.Terminal:
		if v.bar == nil {
			v.bar = v.meter(v.total, v.again)
		}
		v.bar.ChangeMax64(max(v.done, v.total))
		v.bar.Describe(what)
		v.bar.Set64(v.done)
	case over(v.last, now, lineInterval):
		v.last = now
		fmt.Fprintln(v.W, Dated(now), what)
	}
}

// End takes the bar away.
func (v *work) End() {
	if v.bar != nil {
		v.bar.Exit()
	}
}

// Evaluation shows how far an evaluation is: a line on a terminal, and elsewhere a dated one
// now and then.
type Evaluation struct {
	Console
	speed
	last  time.Time // of the last dated line, or of the first call
	shown int       // columns of the line that is there
}

// Evaluation begins to show how far an evaluation is.
func (c Console) Evaluation() *Evaluation { return &Evaluation{Console: c} }

// evaluationInterval is the time between two dated lines of an evaluation.
const evaluationInterval = 30 * time.Second

// Show hears of progress every second.
func (v *Evaluation) Show(p evaluation.Progress) {
	all, now := p.AllPilots+p.AllContinuations, v.Now()
	v.report(now, int64(min(p.Pilots+p.Continuations, all)), int64(all))
	if v.last.IsZero() {
		v.last = now
	}
	switch {
	case v.Quiet:
	case v.Terminal:
		v.draw(v.short(p, now))
	case over(v.last, now, evaluationInterval):
		v.last = now
		fmt.Fprintln(v.W, Dated(now), v.long(p, now))
	}
}

// End takes the line away.
func (v *Evaluation) End() {
	if v.shown > 0 {
		v.draw("")
		fmt.Fprint(cmp.Or(v.Bars, v.W), "\r")
	}
}

// draw puts a text in the place of the line, cut to the terminal but for its last column.
func (v *Evaluation) draw(text string) {
	line := []rune(text)
	if most := cmp.Or(max(0, v.Columns), usualColumns) - 1; len(line) > most {
		line = append(line[:max(0, most-1)], '…')
	}
	fmt.Fprintf(cmp.Or(v.Bars, v.W), "\r%-*s", v.shown, string(line))
	v.shown = len(line)
}

// long says how far it is in words.
func (v *Evaluation) long(p evaluation.Progress, now time.Time) string {
	what := fmt.Sprintf("pilot %d of %d", p.Pilots, p.AllPilots)
	switch {
	case p.AllContinuations > 0 && p.Pilots == p.AllPilots:
		what = fmt.Sprintf("continuations %d of %d", min(p.Continuations, p.AllContinuations), p.AllContinuations)
	case p.AllContinuations > 0:
		what += fmt.Sprintf(", continuations %d", p.Continuations)
	}
	what += fmt.Sprintf(", %d under way", p.UnderWay)
	if p.Scoring > 0 {
		what += fmt.Sprintf(", %d to be scored", p.Scoring)
	}
	if p.Tokens > 0 {
		what += fmt.Sprintf(", %s tokens", display.ThreeDigits(p.Tokens))
	}
	if p.Dollars > 0 {
		what += fmt.Sprintf(", $%.2f", p.Dollars)
	}
	if p.Mean != nil {
		what += fmt.Sprintf(", provisional mean %.4f ± %.4f", p.Mean.Value, p.Mean.StandardError)
	}
	return what + v.left(now, ", ", "")
}

// short is the same in 60 columns: "so far" says that the mean is provisional.
func (v *Evaluation) short(p evaluation.Progress, now time.Time) string {
	what := fmt.Sprintf("%d/%d", v.done, v.total)
	if p.Mean != nil {
		what = fmt.Sprintf("%.3f±%.3f so far, ", p.Mean.Value, p.Mean.StandardError) + what
	}
	if p.Dollars > 0 {
		what += fmt.Sprintf(", $%.2f", p.Dollars)
	}
	if p.Tokens > 0 {
		what += ", " + strings.ReplaceAll(display.ThreeDigits(p.Tokens), " ", "") + " tok"
	}
	if rate := v.rate(now); rate > 0 {
		what += ", " + remaining(float64(v.total-v.done)/rate)
	}
	return what
}

// remaining is a time in one unit.
func remaining(seconds float64) string {
	switch {
	case seconds < 90:
		return fmt.Sprintf("%.0f s left", seconds)
	case seconds < 90*60:
		return fmt.Sprintf("%.0f min left", seconds/60)
	}
	return fmt.Sprintf("%.0f h left", seconds/3600)
}

// Transfer shows how far a file is.
type Transfer struct {
	work
	name string
}

// Transfer begins to show how far the file of a name is.
func (c Console) Transfer(name string) *Transfer {
	return &Transfer{work{Console: c, again: often}, display.EscapedLine(name)}
}

// Progress takes in how far the file is.
func (t *Transfer) Progress(done, total int64) {
	now := t.Now()
	t.report(now, done, total)
	text := fmt.Sprintf("%s %s of %s", t.name, display.Megabytes(done), display.Megabytes(total))
	if total > done {
		text += t.left(now, fmt.Sprintf(", %.1f MB/s, ", t.rate(now)/1e6), "")
	}
	t.show(now, text)
}

// Run shows the progress of a run that is expected to take so many seconds (0 if
// unknown): a bar on a terminal, dated lines elsewhere, and nothing but what went wrong
// when quiet.
func (c Console) Run(plan *dag.Plan, estimate float64) dag.Observer {
	if plan.Units() == 0 {
		return dag.NoObserver{}
	}
	return &progress{Console: c, estimate: estimate}
}

// fewUnits is how many units of a stage get a line each. Of more, lines come at
// intervals.
const fewUnits = 20

// steps is how finely the bar shows a part of a unit.
const steps = 1000

// progress shows how far a run is.
type progress struct {
	Console
	estimate float64
	bar      *meter // nil: dated lines
	pace     *pace
	stage    map[string]*stageLines
	long     map[dag.Ref]*long
	done     int // units
	noted    map[string]bool
}

// stageLines is how far one stage is.
type stageLines struct {
	total, done, failed int
	last                time.Time // of the last line
}

// long is a unit under way that reports how far it is.
type long struct {
	dag.Progress
	speed
	last time.Time // of the last line
}

// Begin notes what there is to do.
func (p *progress) Begin(plan *dag.Plan) {
	start := p.Now()
	p.pace = newPace(plan, p.estimate, start)
	p.stage, p.long, p.noted = make(map[string]*stageLines), make(map[dag.Ref]*long), make(map[string]bool)
	for _, s := range plan.Stages {
		p.stage[s.Stage.Name] = &stageLines{total: len(s.Run), last: start}
	}
	if p.Terminal && !p.Quiet {
		p.bar = p.meter(int64(plan.Units()*steps), often)
	}
}

// Started shows which stage is at work.
func (p *progress) Started(unit dag.Ref, _ string) { p.describe(unit.Stage, p.Now()) }

// describe shows which stage is at work, and how far its long units are together.
func (p *progress) describe(stage string, now time.Time) {
	if p.bar == nil {
		return
	}
	text := stage
	var done, total int
	var rate float64
	what := ""
	for _, u := range p.long {
		done, total, rate, what = done+u.Done, total+u.Total, rate+u.rate(now), u.What
	}
	if what != "" {
		text += " " + far(done, total, what, rate)
	}
	p.bar.Describe(text + ", " + p.pace.left(now))
}

// Advanced moves the bar by a part of a unit, or writes a line about it at intervals.
func (p *progress) Advanced(unit dag.Ref, of dag.Progress) {
	now := p.Now()
	u := p.long[unit]
	if u == nil {
		u = &long{last: now}
		p.long[unit] = u
	}
	u.Progress = of
	u.report(now, int64(of.Done), int64(of.Total))
	switch {
	case p.Quiet:
	case p.bar != nil:
		p.describe(unit.Stage, now)
		p.show()
	case over(u.last, now, lineInterval):
		u.last = now
		text := unit.String() + " " + far(u.Done, u.Total, u.What, u.rate(now))
		if u.Detail != "" {
			text += ", " + u.Detail
		}
		p.line(text + u.left(now, ", ", ""))
	}
}

// show sets the bar to the units done and the parts of those under way.
func (p *progress) show() {
	parts := 0.0
	for _, u := range p.long {
		parts += min(1, float64(u.Done)/float64(max(1, u.Total)))
	}
	p.bar.Set(p.done*steps + int(parts*steps))
}

// line writes a line: above the bar, or with the time, or alone when quiet.
func (p *progress) line(text string) {
	switch {
	case p.bar != nil:
		p.bar.Clear()
	case !p.Quiet:
		text = Dated(p.Now()) + " " + text
	}
	if p.bar != nil && p.Columns > 0 {
		io.WriteString(p.W, table.WrapAt(p.Columns, "", "  ", text))
		return
	}
	fmt.Fprintln(p.W, text)
}

// Finished moves the bar, or writes a line if the unit is one of few or the last of its
// stage, or if the stage has not had a line for some time. Failures have a line each, and
// so have notes that no other unit has left.
func (p *progress) Finished(done dag.Outcome) {
	s, m, now := p.stage[done.Unit.Stage], done.Manifest, p.Now()
	p.done++
	p.pace.finish(done.Unit)
	delete(p.long, done.Unit)
	if done.Err != nil {
		s.failed++
		if !p.Quiet {
			p.line(done.Unit.String() + " failed")
		}
	} else {
		s.done++
		for _, note := range m.Notes {
			if !p.noted[note] {
				p.noted[note] = true
				p.line(fmt.Sprintf("%s: %s", done.Unit, note))
			}
		}
	}
	switch {
	case p.Quiet:
	case p.bar != nil:
		p.show()
	case done.Err == nil && (s.total <= fewUnits || s.done+s.failed == s.total || over(s.last, now, lineInterval)):
		s.last = now
		where := ""
		if m.Queue != nil {
			where = fmt.Sprintf(" on %s as job %s after %s in the queue", m.Host, m.Job, display.Duration(m.QueueSeconds))
		}
		p.line(fmt.Sprintf("%s %d/%d, %s in %s%s, %s", done.Unit.Stage, s.done, s.total, done.Unit.Unit, display.Duration(m.WallSeconds), where, p.pace.left(now)))
	}
}

// End removes the bar, and reports how far the long units are that did not finish; the
// run's summary follows.
func (p *progress) End() {
	if p.bar != nil {
		p.bar.Exit()
	}
	if p.Quiet {
		return
	}
	var lines []string
	for unit, u := range p.long {
		lines = append(lines, fmt.Sprintf("%s: %s of %s %s are stored, and the next run goes on from there", unit, display.Thousands(u.Done), display.Thousands(u.Total), u.What))
	}
	slices.Sort(lines)
	for _, line := range lines {
		p.line(line)
	}
}
