// Package progress shows how far long work is: on a terminal by a line or a bar in its place,
// elsewhere by dated lines.
package progress

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"time"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"

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
	DrawInterval = 100 * time.Millisecond // between two drawings of a line in place
	LineInterval = 5 * time.Second        // between two dated lines about the same work
)

// Turn says when something that has its turn at intervals was last done.
type Turn struct{ last time.Time }

// Due reports whether the interval is over, and begins the next one if so. The first call
// begins the first interval. It is over after a clock was set back, too: otherwise there
// would be no turn for as long as that.
func (t *Turn) Due(now time.Time, interval time.Duration) bool {
	since, first := now.Sub(t.last), t.last.IsZero()
	if !first && since >= 0 && since < interval {
		return false
	}
	t.last = now
	return !first
}

// View shows how far work is.
type View struct {
	Console
	Turn
	shown int                      // columns of the line in place
	bar   *progressbar.ProgressBar // in its place; nil: none
}

// Show shows a text if it is due: in place on a terminal, elsewhere as a dated line.
func (v *View) Show(now time.Time, interval time.Duration, text func() string) {
	switch {
	case v.Quiet:
	case v.Terminal && v.Due(now, DrawInterval):
		v.draw(text())
	case !v.Terminal && v.Due(now, interval):
		fmt.Fprintln(v.W, Dated(now), text())
	}
}

// columns are those of the terminal but for the last, behind which a terminal begins a line.
func (c Console) columns() int { return cmp.Or(max(0, c.Columns), usualColumns) - 1 }

// draw puts a text in the place of the line, cut to the terminal.
func (v *View) draw(text string) {
	text = display.Within([]string{text}, v.columns())
	fmt.Fprintf(cmp.Or(v.Bars, v.W), "\r%-*s", v.shown, text)
	v.shown = utf8.RuneCountInString(text)
}

const (
	barColumns = 10
	barSteps   = 1000
)

// DrawBar puts a share from 0 to 1 in the place of the line, as a bar behind a text.
func (v *View) DrawBar(share float64, text string) {
	if v.bar == nil {
		v.bar = progressbar.NewOptions(barSteps, progressbar.OptionSetWriter(cmp.Or(v.Bars, v.W)), progressbar.OptionSetWidth(barColumns),
			progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(false))
	}
	v.bar.Describe(display.Within([]string{text}, v.columns()-len(" 100% || ")-barColumns))
	v.bar.Set(int(math.Round(share * barSteps)))
}

// End takes the line in place away.
func (v *View) End() {
	if v.bar != nil {
		v.bar.Clear()
	}
	if v.shown > 0 {
		v.draw("")
		io.WriteString(cmp.Or(v.Bars, v.W), "\r")
	}
}

// Write writes a line: above the one in place, or dated, or alone when quiet.
func (v *View) Write(text string) {
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

// Speed is how fast work goes on that reports how much of it is done.
type Speed struct {
	since              time.Time // of the first report
	begun, done, total float64   // begun: done by then
}

// Report takes in how much is done.
func (s *Speed) Report(now time.Time, done, total float64) {
	if s.since.IsZero() {
		s.since, s.begun = now, done
	}
	s.done, s.total = done, total
}

// Rate is how much gets done in a second; 0 if that is not known.
func (s *Speed) Rate(now time.Time) float64 {
	elapsed := now.Sub(s.since).Seconds()
	if elapsed <= 0 {
		return 0
	}
	return (s.done - s.begun) / elapsed
}

// Left is ", about 1 min 2 s left"; empty if that is not known.
func (s *Speed) Left(now time.Time) string {
	rate := s.Rate(now)
	if rate <= 0 {
		return ""
	}
	return ", " + About((s.total-s.done)/rate)
}

// About is "about 1 min 2 s left".
func About(seconds float64) string { return "about " + display.Duration(seconds) + " left" }

// Transfer shows how far a file is.
type Transfer struct {
	View
	Speed
	name string
}

// Transfer begins to show how far the file of a name is.
func (c Console) Transfer(name string) *Transfer {
	return &Transfer{View: View{Console: c}, name: display.EscapedLine(name)}
}

// Progress takes in how many bytes of the file are there.
func (t *Transfer) Progress(done, total int64) {
	now := t.Now()
	t.Report(now, float64(done), float64(total))
	t.Show(now, LineInterval, func() string {
		text := fmt.Sprintf("%s %s of %s", t.name, display.Megabytes(done), display.Megabytes(total))
		if rate := t.Rate(now); rate > 0 && total > done {
			text += fmt.Sprintf(", %.1f MB/s", rate/1e6) + t.Left(now)
		}
		return text
	})
}
