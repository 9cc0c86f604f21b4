package runlog

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"speceval/internal/ownfile"
)

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

// Standing is what the log of a run says of the units that are not done.
type Standing struct {
	Path   string // of the log
	Holder string // as in Run
	Ended  bool
	Open   []Event // the last event of each unit that is queued, started or failed, in their order
}

// mostBytes is the size beyond which a file is refused as a log.
const mostBytes = 1 << 30

// Stand reads the newest log of a run in a folder. Without one it stands empty.
func Stand(dir string) (Standing, error) {
	s := Standing{}
	names, err := runLogs(dir)
	if err != nil || len(names) == 0 {
		return s, err
	}
	s.Path = names[len(names)-1]
	text, err := ownfile.ReadFile(s.Path, mostBytes)
	if err != nil {
		return s, fmt.Errorf("read the log of the last run: %w", err)
	}
	open := make(map[string]int) // place of the last line of each unit that is not done
	var lines [][]byte
	for text := range bytes.Lines(text) {
		unit, about := unitOf(text)
		switch {
		case !about:
			s.note(text)
		case what(text, Done), what(text, Stopped):
			delete(open, unit)
		default:
			open[unit] = len(lines)
			lines = append(lines, text)
		}
	}
	for _, i := range slices.Sorted(maps.Values(open)) {
		var l line
		if json.Unmarshal(lines[i], &l) == nil && (l.What == Queued || l.What == Started || l.What == Failed) {
			s.Open = append(s.Open, l.event())
		}
	}
	return s, nil
}

// note takes a line that is about no unit.
func (s *Standing) note(text []byte) {
	var l line
	if json.Unmarshal(text, &l) != nil {
		return // cut off, or no line of ours
	}
	switch l.What {
	case RunStarted:
		s.Holder, s.Ended = l.Holder, false
	case RunEnded:
		s.Ended = true
	}
}

// unitOf is what a line says of its unit as it stands there, without decoding it:
// a run of a hundred thousand units has twice as many lines. A quote within a
// name is escaped, so that no name can hold what is looked for.
func unitOf(text []byte) (unit string, about bool) {
	_, rest, found := bytes.Cut(text, []byte(`,"stage":"`))
	name, _, whole := bytes.Cut(rest, []byte(`,"key":"`))
	return string(name), found && whole && bytes.HasSuffix(text, []byte("}\n"))
}

// what tells whether a line says that this has happened.
func what(text []byte, happened string) bool {
	_, rest, _ := bytes.Cut(text, []byte(`,"msg":"`))
	return bytes.HasPrefix(rest, []byte(happened+`"`))
}
