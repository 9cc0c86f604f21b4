package main

import (
	"fmt"
	"io"
	"time"

	"speceval/internal/phrase"
	"speceval/pipeline/dag"
)

// observer shows the progress of a run: a bar on a terminal, dated lines
// elsewhere, and nothing but what went wrong when quiet.
func (s *session) observer(plan *dag.Plan) dag.Observer {
	switch {
	case plan.Units() == 0:
		return dag.NoObserver{}
	case s.quiet:
		return &quiet{w: s.stderr}
	case s.terminal:
		return &bar{w: s.stderr, now: s.now}
	}
	return &lines{w: s.stderr, now: s.now}
}

// quiet tells only of files moved aside. Failures are listed when the run
// ends.
type quiet struct {
	dag.NoObserver
	w io.Writer
}

// Finished tells of files that the unit found and kept.
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

// dated is a moment as progress lines begin with it.
func dated(t time.Time) string { return t.Format(time.RFC3339) }

// pace predicts how long the rest of a plan takes, from what has been done and
// how long the units took earlier.
type pace struct {
	weight      map[dag.Ref]float64 // what a unit counts for
	total, done float64
	start       time.Time
}

func newPace(plan *dag.Plan, start time.Time) *pace {
	p := &pace{weight: make(map[dag.Ref]float64), start: start}
	known := true
	for _, stage := range plan.Stages {
		for _, u := range stage.Run {
			known = known && u.Seconds > 0
		}
	}
	for _, stage := range plan.Stages {
		for _, u := range stage.Run {
			p.weight[u.Ref] = 1
			if known {
				p.weight[u.Ref] = u.Seconds
			}
			p.total += p.weight[u.Ref]
		}
	}
	return p
}

func (p *pace) finish(unit dag.Ref) { p.done += p.weight[unit] }

// left is the predicted time to the end.
func (p *pace) left(now time.Time) string {
	if p.done == 0 {
		return "time left unknown"
	}
	elapsed := now.Sub(p.start).Seconds()
	if elapsed < 0 {
		return "time left unknown" // the clock was set back
	}
	return "about " + phrase.Duration(elapsed*max(0, p.total-p.done)/p.done) + " left"
}
