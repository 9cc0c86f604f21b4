package status

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"

	"speceval/internal/evaluation"
	"speceval/internal/terminal/display"
	"speceval/internal/terminal/table"
)

// Console is where the progress of long work is shown: on a terminal by a line in place,
// elsewhere by dated lines at intervals.
type Console struct {
	W        io.Writer // for lines
	Bars     io.Writer // for the line in place, which moves the cursor; nil: W
	Now      func() time.Time
	Terminal bool // W can show a line in place
	Columns  int  // of the terminal; 0: unknown
	Quiet    bool // only what went wrong
}

// Dated is a moment as lines begin with it.
func Dated(t time.Time) string { return t.Format(time.RFC3339) }

const (
	usualColumns = 80                     // of a terminal that does not say
	drawInterval = 100 * time.Millisecond // between two drawings of a line in place
	lineInterval = 5 * time.Second        // between two dated lines about the same work
)

// turn says when something that has its turn at intervals was last done.
type turn struct{ last time.Time }

// due reports whether the interval is over, and begins the next one if so. The first call
// begins the first interval. It is over after a clock was set back, too: otherwise there
// would be no turn for as long as that.
func (t *turn) due(now time.Time, interval time.Duration) bool {
	since, first := now.Sub(t.last), t.last.IsZero()
	if !first && since >= 0 && since < interval {
		return false
	}
	t.last = now
	return !first
}

// view shows how far work is.
type view struct {
	Console
	turn
	shown int                      // columns of the line in place
	bar   *progressbar.ProgressBar // in its place; nil: none
}

// show shows a text if it is due: in place on a terminal, elsewhere as a dated line.
func (v *view) show(now time.Time, interval time.Duration, text func() string) {
	switch {
	case v.Quiet:
	case v.Terminal && v.due(now, drawInterval):
		v.draw(text())
	case !v.Terminal && v.due(now, interval):
		fmt.Fprintln(v.W, Dated(now), text())
	}
}

// columns are those of the terminal but for the last, behind which a terminal begins a line.
func (c Console) columns() int { return cmp.Or(max(0, c.Columns), usualColumns) - 1 }

// draw puts a text in the place of the line, cut to the terminal.
func (v *view) draw(text string) {
	text = display.Within([]string{text}, v.columns())
	fmt.Fprintf(cmp.Or(v.Bars, v.W), "\r%-*s", v.shown, text)
	v.shown = utf8.RuneCountInString(text)
}

const (
	barColumns = 10
	barSteps   = 1000
)

// drawBar puts a share from 0 to 1 in the place of the line, as a bar behind a text.
func (v *view) drawBar(share float64, text string) {
	if v.bar == nil {
		v.bar = progressbar.NewOptions(barSteps, progressbar.OptionSetWriter(cmp.Or(v.Bars, v.W)), progressbar.OptionSetWidth(barColumns),
			progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(false))
	}
	v.bar.Describe(display.Within([]string{text}, v.columns()-len(" 100% || ")-barColumns))
	v.bar.Set(int(math.Round(share * barSteps)))
}

// End takes the line in place away.
func (v *view) End() {
	if v.bar != nil {
		v.bar.Clear()
	}
	if v.shown > 0 {
		v.draw("")
		io.WriteString(cmp.Or(v.Bars, v.W), "\r")
	}
}

// write writes a line: above the one in place, or dated, or alone when quiet.
func (v *view) write(text string) {
	v.End()
	if !v.Terminal && !v.Quiet {
		text = Dated(v.Now()) + " " + text
	}
	if !v.Terminal {
		fmt.Fprintln(v.W, text)
		return
	}
	io.WriteString(v.W, table.WrapAt(cmp.Or(v.Columns, usualColumns), "", "  ", text))
}

// speed is how fast work goes on that reports how much of it is done.
type speed struct {
	since              time.Time // of the first report
	begun, done, total float64   // begun: done by then
}

// report takes in how much is done.
func (s *speed) report(now time.Time, done, total float64) {
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
	return (s.done - s.begun) / elapsed
}

// left is ", about 1 min 2 s left"; empty if that is not known.
func (s *speed) left(now time.Time) string {
	rate := s.rate(now)
	if rate <= 0 {
		return ""
	}
	return ", " + about((s.total-s.done)/rate)
}

func about(seconds float64) string { return "about " + display.Duration(seconds) + " left" }

// Evaluation shows how far an evaluation is.
type Evaluation struct {
	view
	speed
}

// Evaluation begins to show how far an evaluation is.
func (c Console) Evaluation() *Evaluation { return &Evaluation{view: view{Console: c}} }

// Show takes in how far the evaluation is.
func (v *Evaluation) Show(p evaluation.Progress) {
	const evaluationInterval = 30 * time.Second // between two dated lines
	all, now := p.AllPilots+p.AllContinuations, v.Now()
	v.report(now, float64(min(p.Pilots+p.Continuations, all)), float64(all))
	v.show(now, evaluationInterval, func() string { return v.text(p, now) })
}

// text fits 60 columns: the mean so far, rollouts of how many, dollars, tokens, time left.
func (v *Evaluation) text(p evaluation.Progress, now time.Time) string {
	what := fmt.Sprintf("%.0f/%.0f", v.done, v.total)
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
		what += ", " + remaining((v.total-v.done)/rate)
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
	view
	speed
	name string
}

// Transfer begins to show how far the file of a name is.
func (c Console) Transfer(name string) *Transfer {
	return &Transfer{view: view{Console: c}, name: display.EscapedLine(name)}
}

// Progress takes in how many bytes of the file are there.
func (t *Transfer) Progress(done, total int64) {
	now := t.Now()
	t.report(now, float64(done), float64(total))
	t.show(now, lineInterval, func() string {
		text := fmt.Sprintf("%s %s of %s", t.name, display.Megabytes(done), display.Megabytes(total))
		if rate := t.rate(now); rate > 0 && total > done {
			text += fmt.Sprintf(", %.1f MB/s", rate/1e6) + t.left(now)
		}
		return text
	})
}
