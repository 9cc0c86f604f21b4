// Package runlog writes and reads the structured logs of runs: a JSON line for every
// start and end of a unit, written by log/slog, with the unit, its key, the host and the
// Slurm job. The log of a run also has when and by which command the run was started,
// and how it ended. The processes that run units write the logs; `speceval status` and
// the executors that run units on other machines read them. Logs serve people and
// messages: only a manifest records that a unit is done.
//
// The package also writes runs.parquet, with a row for each manifest.
package runlog

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"maps"
	"slices"
	"time"

	"speceval/internal/process"
	"speceval/pipeline/dag"
)

// What can happen to a unit.
const (
	Queued  = "unit queued"  // submitted to a scheduler
	Started = "unit started" // a process has begun it
	Told    = "unit on"      // how far it is
	Done    = "unit done"    // its manifest is written
	Failed  = "unit failed"
	Stopped = "unit stopped" // asked to, before its end
)

// Ended is what an element's own line says, which is of no unit.
const Ended = "element ended"

// Place is where a process runs, as its log says.
type Place struct {
	Host string
	Job  string // of the scheduler: "1234_7"; "" for none
}

// Logger writes the log. Its methods may be called concurrently.
type Logger struct {
	log *slog.Logger
	at  Place
}

// New is a logger that writes to w, a line a write, with times of its own clock.
func New(w io.Writer, now func() time.Time, at Place) *Logger {
	options := slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			a.Value = slog.TimeValue(now().UTC())
		}
		return a
	}}
	log := slog.New(slog.NewJSONHandler(w, &options)).With("host", at.Host)
	if at.Job != "" {
		log = log.With("job", at.Job)
	}
	return &Logger{log, at}
}

// Queued says that a unit waits in a job.
func (l *Logger) Queued(unit dag.Ref, key, job string) {
	l.unit(slog.LevelInfo, Queued, unit, key, "job", job)
}

// Started says that a unit begins.
func (l *Logger) Started(unit dag.Ref, key string) { l.unit(slog.LevelInfo, Started, unit, key) }

// Told says how far a unit is.
func (l *Logger) Told(unit dag.Ref, key string, p dag.Progress) {
	l.unit(slog.LevelInfo, Told, unit, key, "progress", p)
}

// Done says that a unit has its manifest; where it ran in another place than
// the log is written, and how long it had to wait for that, is said too.
func (l *Logger) Done(unit dag.Ref, m *dag.Manifest) {
	more := []any{"wall_seconds", m.WallSeconds, "cpu_seconds", m.CPUSeconds, "peak_bytes", m.PeakBytes}
	if m.Queue != nil && m.Job != l.at.Job {
		more = append(more, "job", m.Job, "ran_on", m.Host, "queue_seconds", m.QueueSeconds)
	}
	l.unit(slog.LevelInfo, Done, unit, m.Key, more...)
}

// Failed says that a unit has failed. It is final if trying again cannot help.
func (l *Logger) Failed(unit dag.Ref, key string, err error, final bool) {
	l.unit(slog.LevelError, Failed, unit, key, "error", err.Error(), "final", final)
}

// Stopped says that a unit was stopped before its end.
func (l *Logger) Stopped(unit dag.Ref, key string) { l.unit(slog.LevelWarn, Stopped, unit, key) }

// ElementEnded says that the process that ran units for a scheduler ends by
// itself, what it has taken from its start and what it has used: as much as the
// units have, and what it took to begin.
func (l *Logger) ElementEnded(took time.Duration, used process.Usage) {
	l.log.Info(Ended, "wall_seconds", took.Seconds(), "cpu_seconds", used.CPUSeconds, "peak_bytes", used.PeakBytes)
}

func (l *Logger) unit(level slog.Level, what string, unit dag.Ref, key string, more ...any) {
	l.log.Log(context.Background(), level, what, append([]any{"stage", unit.Stage, "unit", unit.Unit, "key", key}, more...)...)
}

// Recorder is an observer that writes the log of a run, and tells another one
// everything. The log is made when the first unit begins: a run of nothing
// leaves none.
type Recorder struct {
	dag.Observer
	Dir  string // of the logs
	Run  Run
	Host string
	Now  func() time.Time
	Warn func(error) // called once if the log cannot be written; the run goes on

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
// log. It does not know which units on other machines were stopped.
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

// What can happen to a run. These lines are about no unit.
const (
	RunStarted = "run started" // before its first unit
	RunEnded   = "run ended"   // however it ended, unless it was killed
)

// Run is what a run says of itself when it starts.
type Run struct {
	PID     int
	Command string // as typed
	Commit  string // of the program
	Config  string // file that the configuration was read from
	Holder  string // what it wrote into the lock of the output folder, see [dag.Holder]
}

// Counts are how the planned units of a run ended.
type Counts struct {
	Units   int // planned
	Done    int
	Failed  int
	Stopped int // before their end
	Left    int // on other machines, where they may go on
}

// NotRun is how many were never begun.
func (c Counts) NotRun() int { return c.Units - c.Done - c.Failed - c.Stopped - c.Left }

// RunStarted says that a run begins so many units.
func (l *Logger) RunStarted(r Run, units int) {
	l.log.Info(RunStarted, "pid", r.PID, "command", r.Command, "commit", r.Commit, "config", r.Config, "holder", r.Holder, "units", units)
}

// RunEnded says what came of a run.
func (l *Logger) RunEnded(c Counts) {
	level := slog.LevelInfo
	if c.Done < c.Units {
		level = slog.LevelWarn
	}
	l.log.Log(context.Background(), level, RunEnded, "units", c.Units, "done", c.Done, "failed", c.Failed, "stopped", c.Stopped, "left", c.Left, "not_run", c.NotRun())
}
