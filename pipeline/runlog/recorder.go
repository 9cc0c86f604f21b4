package runlog

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"speceval/pipeline/dag"
)

// Recorder is an observer that writes the log of a run, and passes everything on to another
// one. A run of nothing leaves no log.
type Recorder struct {
	dag.Observer
	Dir  string // of the logs
	Run  Run
	Host string
	Now  func() time.Time
	Warn func(error) // called once if the log cannot be written; the run goes on

	// Elsewhere reports whether units of a stage run on other machines, where they
	// begin later.
	Elsewhere func(stage string) bool

	log    *Logger  // nil where there is nothing to run
	file   *os.File // nil if it cannot be made
	units  int
	counts Counts
	begun  map[dag.Ref]string // key of each unit that has not ended
}

var _ dag.Observer = (*Recorder)(nil)

// Begin begins the log.
func (r *Recorder) Begin(plan *dag.Plan) {
	r.units, r.begun = plan.Units(), make(map[dag.Ref]string)
	if r.units > 0 {
		var w io.Writer = io.Discard
		file, err := create(r.Dir, r.Now(), r.Run.PID)
		if err != nil {
			r.Warn(err)
		} else {
			r.file, w = file, file
		}
		r.log = New(w, r.Now, r.Host, "")
		r.log.Warn = r.Warn
		r.log.Log(Event{What: RunStarted, Units: r.units, Run: &r.Run})
	}
	r.Observer.Begin(plan)
}

// Started writes that a unit begins, or waits to.
func (r *Recorder) Started(unit dag.Ref, key string) {
	r.begun[unit] = key
	what := Started
	if r.Elsewhere(unit.Stage) {
		what = Queued
	}
	r.log.Log(Of(what, unit, key))
	r.Observer.Started(unit, key)
}

// Finished writes how a unit ended.
func (r *Recorder) Finished(done dag.Outcome) {
	delete(r.begun, done.Unit)
	if done.Err != nil {
		r.counts.Failed++
		r.log.Failed(done.Unit, done.Key, done.Err, false)
	} else {
		r.counts.Done++
		r.log.Done(done.Unit, done.Manifest)
	}
	r.Observer.Finished(done)
}

// End writes which units were stopped and what came of the run, and closes the
// log. It does not know which units on other machines were stopped.
func (r *Recorder) End() {
	r.Observer.End()
	if r.log == nil {
		return
	}
	c := &r.counts
	for _, unit := range slices.SortedFunc(maps.Keys(r.begun), func(a, b dag.Ref) int { return strings.Compare(a.String(), b.String()) }) {
		if r.Elsewhere(unit.Stage) {
			c.Left++
			continue
		}
		c.Stopped++
		r.log.Log(Of(Stopped, unit, r.begun[unit]))
	}
	c.NotRun = r.units - c.Done - c.Failed - c.Stopped - c.Left
	r.log.Log(Event{What: RunEnded, Units: r.units, Counts: c})
	r.file.Close() // nil where it could not be made
}

// kept is how many logs of runs a folder keeps; the oldest go first.
const kept = 20

// create makes the log of a run in a folder, and removes the oldest ones.
func create(dir string, at time.Time, pid int) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	name := fmt.Sprintf("run-%s-%d.jsonl", at.UTC().Format("20060102T150405.000Z"), pid)
	file, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return nil, err
	}
	all := runLogs(dir)
	for _, old := range all[:max(0, len(all)-kept)] {
		os.Remove(old) // what cannot be removed is the next run's to remove
	}
	return file, nil
}

// runLogs are the paths of the logs of runs in a folder, the oldest first: names have the
// time.
func runLogs(dir string) []string {
	paths, _ := filepath.Glob(filepath.Join(dir, "run-*.jsonl"))
	return paths
}
