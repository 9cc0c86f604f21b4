package runlog

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"speceval/pipeline/dag"
)

// Recorder writes the log of a run: Begin comes before its first event, End after the last.
// A run of nothing leaves no log.
type Recorder struct {
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
}

// Begin begins the log.
func (r *Recorder) Begin(plan *dag.Plan) {
	if r.units = plan.Units(); r.units == 0 {
		return
	}
	var w io.Writer = io.Discard
	if file, err := create(r.Dir, r.Now(), r.Run.PID); err != nil {
		r.Warn(err)
	} else {
		r.file, w = file, file
	}
	r.log = New(w, r.Now, r.Host, "")
	r.log.Warn = r.Warn
	r.log.Log(Event{What: RunStarted, Units: r.units, Run: &r.Run})
}

// Observe writes that a unit begins, or waits to, and how it ended.
func (r *Recorder) Observe(e dag.Event) {
	switch {
	case e.Progress != nil:
	case e.Err != nil:
		r.counts.Failed++
		r.log.Failed(e.Unit, e.Key, e.Err, false)
	case e.Manifest != nil:
		r.counts.Done++
		r.log.Done(e.Unit, e.Manifest)
	case r.Elsewhere(e.Unit.Stage):
		r.log.Log(Of(Queued, e.Unit, e.Key))
	default:
		r.log.Log(Of(Started, e.Unit, e.Key))
	}
}

// End writes what came of the run, and closes the log.
func (r *Recorder) End() {
	if r.log != nil {
		r.log.Log(Event{What: RunEnded, Units: r.units, Counts: &r.counts})
		r.file.Close() // nil where it could not be made
	}
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
