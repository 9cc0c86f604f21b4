// Package progress shows people how far long work is: bars on a terminal, dated
// lines at intervals elsewhere.
package progress

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"speceval/internal/evaluation"
	"speceval/internal/phrase"
	"speceval/internal/shown"
	"speceval/pipeline/status"
)

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
	case status.Over(v.last, now, lineInterval):
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
			progressbar.OptionSetWriter(c.bars()), progressbar.OptionSetDescription(shown.Line(name)), progressbar.OptionShowBytes(true),
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
		left = ", about " + phrase.Duration(float64(total-done)/rate) + " left"
	}
	t.say(fmt.Sprintf("%s %s of %s, %.1f MB/s%s", t.name, phrase.Megabytes(done), phrase.Megabytes(total), rate/1e6, left))
}

// End takes the bar away.
func (t *Transfer) End() {
	if t.bar != nil {
		t.bar.Finish()
	}
}
