package show

import (
	"fmt"
	"strings"
	"time"

	"speceval/internal/evaluation"
	"speceval/internal/terminal/display"
	"speceval/internal/terminal/progress"
)

// Progress shows how far an evaluation is.
type Progress struct {
	progress.View
	progress.Speed
}

// NewProgress begins to show how far an evaluation is.
func NewProgress(c progress.Console) *Progress {
	return &Progress{View: progress.View{Console: c}}
}

// Take takes in how far the evaluation is.
func (v *Progress) Take(p evaluation.Progress) {
	const evaluationInterval = 30 * time.Second // between two dated lines
	all, now := p.AllPilots+p.AllContinuations, v.Now()
	done := min(p.Pilots+p.Continuations, all)
	v.Report(now, float64(done), float64(all))
	v.Show(now, evaluationInterval, func() string { return v.text(p, done, all, now) })
}

// text fits 60 columns: the mean so far, rollouts of how many, dollars, tokens, time left.
func (v *Progress) text(p evaluation.Progress, done, all int, now time.Time) string {
	what := fmt.Sprintf("%d/%d", done, all)
	if p.Mean != nil {
		what = fmt.Sprintf("%.3f±%.3f so far, ", p.Mean.Value, p.Mean.StandardError) + what
	}
	if p.Dollars > 0 {
		what += fmt.Sprintf(", $%.2f", p.Dollars)
	}
	if p.Tokens > 0 {
		what += ", " + strings.ReplaceAll(display.ThreeDigits(p.Tokens), " ", "") + " tok"
	}
	if rate := v.Rate(now); rate > 0 {
		what += ", " + remaining(float64(all-done)/rate)
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
