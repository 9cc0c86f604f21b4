package runlog

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"speceval/pipeline/dag"
)

// Recorder is an observer that writes the log of a run, and tells another one
// everything. The log is made when the first unit begins: a run of nothing
// leaves none.
type Recorder struct {
	dag.Observer
	Dir  string // of the logs
	Run  Run
	Host string
	Now  func() time.Time
	Warn func(error) // is told, once, that the log cannot be written; the run goes on

	// Elsewhere tells whether units of a stage run on other machines, where they
	// begin later; nil where none does.
	Elsewhere func(stage string) bool

	log    *Logger // nil before the first unit
	file   *lasting
	counts Counts
	begun  map[dag.Ref]string // key of each unit that has not ended
}

var _ dag.Observer = (*Recorder)(nil)

// Begin notes what there is to do.
func (r *Recorder) Begin(plan *dag.Plan) {
	r.counts = Counts{Units: plan.Units()}
	r.begun = make(map[dag.Ref]string)
	r.Observer.Begin(plan)
}

// Started writes that a unit begins, or waits to.
func (r *Recorder) Started(unit dag.Ref, key string) {
	r.open()
	r.begun[unit] = key
	if r.elsewhere(unit) {
		r.log.Queued(unit, key, "")
	} else {
		r.log.Started(unit, key)
	}
	r.Observer.Started(unit, key)
}

// Finished writes how a unit ended.
func (r *Recorder) Finished(done dag.Outcome) {
	r.open()
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
// log. Of units on other machines nobody here knows whether they were.
func (r *Recorder) End() {
	r.Observer.End()
	if r.log == nil {
		return
	}
	stopped := slices.SortedFunc(maps.Keys(r.begun), func(a, b dag.Ref) int {
		return cmp.Or(cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.Unit, b.Unit))
	})
	for _, unit := range stopped {
		if r.elsewhere(unit) {
			r.counts.Left++
			continue
		}
		r.counts.Stopped++
		r.log.Stopped(unit, r.begun[unit])
	}
	r.log.RunEnded(r.counts)
	if r.file != nil {
		r.file.file.Close()
	}
}

func (r *Recorder) elsewhere(unit dag.Ref) bool {
	return r.Elsewhere != nil && r.Elsewhere(unit.Stage)
}

// open begins the log, if that is not done.
func (r *Recorder) open() {
	if r.log != nil {
		return
	}
	at := Place{Host: r.Host}
	file, err := create(r.Dir, r.Now(), r.Run.PID)
	if err != nil {
		r.Warn(err)
		r.log = New(nothing{}, r.Now, at)
		return
	}
	r.file = &lasting{file: file, warn: r.Warn}
	r.log = New(r.file, r.Now, at)
	r.log.RunStarted(r.Run, r.counts.Units)
}

// nothing takes what cannot be written.
type nothing struct{}

func (nothing) Write(p []byte) (int, error) { return len(p), nil }
