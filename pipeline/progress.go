package main

import (
	"fmt"
	"io"
	"time"

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

// dated is a moment as progress lines begin with it.
func dated(t time.Time) string { return t.Format(time.RFC3339) }
