package main

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"speceval/pipeline/dag"
)

// bar shows progress as one bar for all units, on a terminal. It has no
// colours.
type bar struct {
	w   io.Writer
	bar *progressbar.ProgressBar
}

var _ dag.Observer = (*bar)(nil)

// Begin draws the empty bar.
func (b *bar) Begin(plan *dag.Plan) {
	b.bar = progressbar.NewOptions(plan.Units(),
		progressbar.OptionSetWriter(b.w),
		progressbar.OptionSetWidth(30),
		progressbar.OptionShowCount(),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
	)
}

// Started shows which stage is at work.
func (b *bar) Started(unit dag.Ref) { b.bar.Describe(unit.Stage) }

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
	b.bar.Add(1)
}

// End takes the bar away.
func (b *bar) End() { b.bar.Exit() }
