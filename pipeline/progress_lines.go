package main

import (
	"fmt"
	"io"
	"time"

	"speceval/internal/phrase"
	"speceval/pipeline/dag"
	"speceval/pipeline/status"
)

const (
	// fewUnits is how many units of a stage get a line each. Of more, lines
	// come at intervals.
	fewUnits     = 20
	lineInterval = 5 * time.Second
)

// lines shows progress as dated lines, for logs.
type lines struct {
	w     io.Writer
	now   func() time.Time
	pace  *status.Pace
	stage map[string]*stageLines
	long  status.Running
}

// stageLines is how far one stage is.
type stageLines struct {
	total, done, failed int
	last                time.Time // of the last line
}

var _ dag.Observer = (*lines)(nil)

// Begin notes what there is to do.
func (l *lines) Begin(plan *dag.Plan) {
	start := l.now()
	l.pace = status.NewPace(plan, start)
	l.stage = make(map[string]*stageLines)
	l.long = status.Running{}
	for _, s := range plan.Stages {
		l.stage[s.Stage.Name] = &stageLines{total: len(s.Run), last: start}
	}
}

// Started says nothing.
func (l *lines) Started(dag.Ref, string) {}

// Advanced writes a line about a long unit, at intervals.
func (l *lines) Advanced(unit dag.Ref, p dag.Progress) {
	now := l.now()
	if u := l.long.Note(unit, p, now); u.Due(now, lineInterval) {
		fmt.Fprintf(l.w, "%s %s %s\n", dated(now), unit, u.Text(now))
	}
}

// Finished writes a line if the unit failed, is one of few or the last of its
// stage, or if the stage has not had a line for some time.
func (l *lines) Finished(done dag.Outcome) {
	s, now := l.stage[done.Unit.Stage], l.now()
	l.pace.Finish(done.Unit)
	delete(l.long, done.Unit)
	for _, note := range notes(done) {
		fmt.Fprintln(l.w, dated(now), note)
	}
	if done.Err != nil {
		s.failed++
		fmt.Fprintln(l.w, dated(now), done.Unit, "failed")
		return
	}
	s.done++
	if s.total > fewUnits && s.done+s.failed < s.total && !status.Over(s.last, now, lineInterval) {
		return
	}
	s.last = now
	fmt.Fprintf(l.w, "%s %s %d/%d, %s in %s%s, %s\n", dated(now), done.Unit.Stage, s.done, s.total,
		done.Unit.Unit, phrase.Duration(done.Manifest.WallSeconds), elsewhere(done.Manifest), l.pace.Left(now))
}

// elsewhere says where a unit ran that had to wait for a machine, and how long it
// waited: " on n1 as job 12_3 after 40 s in the queue"; empty for any other.
func elsewhere(m *dag.Manifest) string {
	if m.Queue == nil {
		return ""
	}
	return fmt.Sprintf(" on %s as job %s after %s in the queue", m.Host, m.Job, phrase.Duration(m.QueueSeconds))
}

// End reports how far the long units are that did not finish; the run's summary
// follows.
func (l *lines) End() {
	for _, line := range l.long.Unfinished() {
		fmt.Fprintln(l.w, dated(l.now()), line)
	}
}
