package main

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"speceval/pipeline/dag"
	"speceval/pipeline/status"
)

// bar shows progress as one bar for all units, on a terminal. It has no
// colours.
type bar struct {
	w    io.Writer
	now  func() time.Time
	bar  *progressbar.ProgressBar
	done int // units
	long status.Running
}

// steps is how finely the bar shows a part of a unit.
const steps = 1000

var _ dag.Observer = (*bar)(nil)

// Begin draws the empty bar.
func (b *bar) Begin(plan *dag.Plan) {
	b.long = status.Running{}
	b.bar = progressbar.NewOptions(plan.Units()*steps,
		progressbar.OptionSetWriter(b.w),
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
