// Package runlog writes and reads the structured logs of runs: a JSON line for every
// start and end of a unit, with the unit, its key, the host and the job. The log of a run
// also has when and by which command the run was started, and how it ended. The processes
// that run units write the logs; `speceval status` and the executors that run units on
// other machines read them. Logs serve people and messages: only a manifest records that a
// unit is done.
package runlog

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
	"time"

	"speceval/pipeline/dag"
)

// What can happen to a unit, to an element and to a run.
const (
	Queued  = "unit queued"  // submitted to a scheduler
	Started = "unit started" // a process has begun it
	Told    = "unit on"      // how far it is
	Done    = "unit done"    // its manifest is written
	Failed  = "unit failed"
	Stopped = "unit stopped" // asked to, before its end

	Ended = "element ended" // by itself, with what it has used

	RunStarted = "run started" // before its first unit
	RunEnded   = "run ended"   // however it ended, unless it was killed
)

// Event is a line of a log.
type Event struct {
	Time  time.Time `json:"time"`
	Level string    `json:"level"`
	What  string    `json:"msg"` // one of the constants
	Host  string    `json:"host,omitempty"`
	Job   string    `json:"job,omitempty"` // of the scheduler: "1234_7"

	Stage string `json:"stage,omitempty"`
	ID    string `json:"unit,omitempty"` // of the unit, if it is about one
	Key   string `json:"key,omitempty"`  // as far as the writer knew it
	*Use

	Error    string        `json:"error,omitempty"`    // of a failure
	Final    bool          `json:"final,omitempty"`    // of a failure: trying again cannot help
	Progress *dag.Progress `json:"progress,omitempty"` // of Told

	*Run
	Units int `json:"units,omitempty"` // of a run: planned
	*Counts

	Log string `json:"log,omitempty"` // path of the log that has it, once it is read
}

// Use is the time and memory of a unit that is done, or of an element.
type Use struct {
	WallSeconds float64 `json:"wall_seconds"`
	CPUSeconds  float64 `json:"cpu_seconds"`
	PeakBytes   int64   `json:"peak_bytes"`
}

// Run describes a run at its start.
type Run struct {
	PID     int    `json:"pid"`
	Command string `json:"command"` // as typed
	Commit  string `json:"commit"`  // of the program
	Config  string `json:"config"`  // file that the configuration was read from
	Holder  string `json:"holder"`  // what it wrote into the lock of the output folder, see [dag.Holder]
}

// Counts are the planned units of a run that it has seen end.
type Counts struct {
	Done   int `json:"done"`
	Failed int `json:"failed"`
}

// Unit is the unit that an event is about.
func (e Event) Unit() dag.Ref { return dag.Ref{Stage: e.Stage, Unit: e.ID} }

// Of is an event of a unit.
func Of(what string, unit dag.Ref, key string) Event {
	return Event{What: what, Stage: unit.Stage, ID: unit.Unit, Key: key}
}

// Logger writes a log. Its methods may be called concurrently.
type Logger struct {
	Warn func(error) // called once if lines are lost; may be nil

	w         io.Writer
	now       func() time.Time
	host, job string
	mu        sync.Mutex
	torn      bool // the log ends within a line
}

// New is a logger that writes to w, a line a write, with times of its own clock. It goes
// on where it cannot write: a full disk must not end a run that could do without its log.
// Host is where the process runs, and job that of a scheduler; "" for none.
func New(w io.Writer, now func() time.Time, host, job string) *Logger {
	return &Logger{w: w, now: now, host: host, job: job}
}

// Log writes an event, with the time and the place.
func (l *Logger) Log(e Event) {
	e.Time, e.Level, e.Host, e.Job = l.now().UTC(), "INFO", l.host, l.job
	if e.What == Failed {
		e.Level = "ERROR"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var b bytes.Buffer
	if l.torn {
		b.WriteByte('\n')
	}
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(e)
	if err == nil {
		var n int
		n, err = l.w.Write(b.Bytes())
		l.torn = err != nil && (l.torn || n > 0)
	}
	if err != nil && l.Warn != nil {
		l.Warn(err)
		l.Warn = nil
	}
}

// Done says that a unit has its manifest.
func (l *Logger) Done(unit dag.Ref, m *dag.Manifest) {
	e := Of(Done, unit, m.Key)
	e.Use = &Use{m.WallSeconds, m.CPUSeconds, m.PeakBytes}
	l.Log(e)
}

// Failed says that a unit has failed. It is final if trying again cannot help.
func (l *Logger) Failed(unit dag.Ref, key string, err error, final bool) {
	e := Of(Failed, unit, key)
	e.Error, e.Final = err.Error(), final
	l.Log(e)
}
