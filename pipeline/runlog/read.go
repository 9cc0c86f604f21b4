package runlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"speceval/internal/files"
	"speceval/pipeline/dag"
)

// Event is a line of the log about a unit.
type Event struct {
	Time  time.Time `json:"time"`
	What  string    `json:"msg"` // one of the constants
	Unit  dag.Ref   `json:"-"`
	Key   string    `json:"key"` // as far as the writer knew it
	Host  string    `json:"host"`
	Job   string    `json:"job"`
	Error string    `json:"error"` // of a failure
	Final bool      `json:"final"` // of a failure: trying again cannot help

	Progress *dag.Progress `json:"progress"` // of Told
}

// line is an event as it is written, or what a run says of itself.
type line struct {
	Event
	Stage  string `json:"stage"`
	ID     string `json:"unit"`
	Holder string `json:"holder"` // of a run
}

// parse reads the whole lines of a log; what is none of ours is passed over. It returns
// their bytes: a last line that is not whole yet is left.
func parse(text []byte) (lines []line, whole int) {
	whole = bytes.LastIndexByte(text, '\n') + 1
	for text := range bytes.Lines(text[:whole]) {
		var l line
		if json.Unmarshal(text, &l) == nil {
			l.Unit = dag.Ref{Stage: l.Stage, Unit: l.ID}
			lines = append(lines, l)
		}
	}
	return lines, whole
}

// Reader reads a log that may still grow.
type Reader struct {
	path string
	read int64
}

// NewReader reads the log at path, which need not be there yet.
func NewReader(path string) *Reader { return &Reader{path: path} }

// Next are the events that have been added since the last call. A line that is
// not whole yet is left for the next call.
func (r *Reader) Next() ([]Event, error) {
	file, err := os.Open(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.NewSectionReader(file, r.read, 1<<40))
	if err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	lines, whole := parse(text)
	r.read += int64(whole)
	var events []Event
	for _, l := range lines {
		if l.ID != "" {
			events = append(events, l.Event)
		}
	}
	return events, nil
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
	text, err := files.ReadInput(s.Path, files.Kind{Name: "a log", MaxBytes: mostBytes})
	if err != nil {
		return s, fmt.Errorf("read the log of the last run: %w", err)
	}
	lines, _ := parse(text)
	open := make(map[dag.Ref]int) // place in lines of the last of each unit that is not done
	for i, l := range lines {
		switch l.What {
		case RunStarted:
			s.Holder, s.Ended = l.Holder, false
		case RunEnded:
			s.Ended = true
		case Done, Stopped:
			delete(open, l.Unit)
		case Queued, Started, Failed:
			open[l.Unit] = i
		}
	}
	for _, i := range slices.Sorted(maps.Values(open)) {
		s.Open = append(s.Open, lines[i].Event)
	}
	return s, nil
}
