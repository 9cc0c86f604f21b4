package runlog

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"speceval/pipeline/dag"
)

// Record begins the log of a run in a folder: observe takes the run's events, and end writes what
// came of it. A run of nothing leaves no log. Warn is called once if the log cannot be written; the
// run goes on. Elsewhere reports whether units of a stage run on other machines, where they begin
// later.
func Record(dir string, r Run, host string, now func() time.Time, plan *dag.Plan, elsewhere func(stage string) bool, warn func(error)) (observe func(dag.Event), end func()) {
	units := plan.Units()
	if units == 0 {
		return func(dag.Event) {}, func() {}
	}
	var w io.Writer = io.Discard
	file, err := create(dir, now(), r.PID)
	if err != nil {
		warn(err)
	} else {
		w = file
	}
	log := New(w, now, host, "")
	log.Warn = warn
	log.Log(Event{What: RunStarted, Units: units, Run: &r})
	var counts Counts
	observe = func(e dag.Event) {
		switch {
		case e.Progress != nil:
		case e.Err != nil:
			counts.Failed++
			log.Failed(e.Unit, e.Key, e.Err, false)
		case e.Manifest != nil:
			counts.Done++
			log.Done(e.Unit, e.Manifest)
		case elsewhere(e.Unit.Stage):
			log.Log(Of(Queued, e.Unit, e.Key))
		default:
			log.Log(Of(Started, e.Unit, e.Key))
		}
	}
	return observe, func() {
		log.Log(Event{What: RunEnded, Units: units, Counts: &counts})
		file.Close() // nil where it could not be made
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
