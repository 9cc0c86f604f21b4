// Package runlog is the structured log of what happens to units: a JSON line for
// every start and end, written by log/slog, with the unit, its key and the place.
// That of a run says too when and by what the run was started, and what came of it.
// The processes that run units write it; `speceval status` and the executors
// that run units elsewhere read it. It serves people and messages: that a unit
// is done only its manifest says.
package runlog

import (
	"context"
	"io"
	"log/slog"
	"time"

	"speceval/internal/rusage"
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
func (l *Logger) ElementEnded(took time.Duration, used rusage.Usage) {
	l.log.Info(Ended, "wall_seconds", took.Seconds(), "cpu_seconds", used.CPUSeconds, "peak_bytes", used.PeakBytes)
}

func (l *Logger) unit(level slog.Level, what string, unit dag.Ref, key string, more ...any) {
	l.log.Log(context.Background(), level, what, append([]any{"stage", unit.Stage, "unit", unit.Unit, "key", key}, more...)...)
}
