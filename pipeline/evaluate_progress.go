package main

import (
	"fmt"
	"time"

	"github.com/schollz/progressbar/v3"

	"speceval/internal/evaluation"
	"speceval/pipeline/status"
)

// evaluationProgress shows how far an evaluation is: a bar on a terminal, a dated
// line now and then elsewhere.
type evaluationProgress struct {
	*session
	bar  *progressbar.ProgressBar // nil: none yet
	last time.Time                // of the last line, or of the first call
}

// show hears of progress every second.
func (v *evaluationProgress) show(p evaluation.Progress) {
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
	now := v.now()
	if v.last.IsZero() {
		v.last = now
	}
	switch {
	case v.quiet:
	case v.terminal:
		if v.bar == nil {
			v.bar = progressbar.NewOptions(p.AllPilots+p.AllContinuations,
				progressbar.OptionSetWriter(v.stderr), progressbar.OptionSetWidth(30),
				progressbar.OptionSetPredictTime(true), progressbar.OptionClearOnFinish())
		}
		v.bar.Describe(what)
		v.bar.Set(min(p.Pilots+p.Continuations, p.AllPilots+p.AllContinuations))
	case status.Over(v.last, now, lineInterval):
		v.last = now
		fmt.Fprintln(v.stderr, dated(now), what)
	}
}

// end takes the bar away.
func (v *evaluationProgress) end() {
	if v.bar != nil {
		v.bar.Exit()
	}
}
