package runlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"speceval/internal/ownfile"
	"speceval/pipeline/dag"
)

// Event is a line of the log about a unit.
type Event struct {
	Time  time.Time
	What  string // one of the constants
	Unit  dag.Ref
	Key   string // as far as the writer knew it
	Host  string
	Job   string
	Error string // of a failure
	Final bool   // of a failure: trying again cannot help

	Progress *dag.Progress // of Told
}

// line is an event as it is written.
type line struct {
	Time  time.Time `json:"time"`
	What  string    `json:"msg"`
	Stage string    `json:"stage"`
	Unit  string    `json:"unit"`
	Key   string    `json:"key"`
	Host  string    `json:"host"`
	Job   string    `json:"job"`
	Error string    `json:"error"`
	Final bool      `json:"final"`

	Progress *dag.Progress `json:"progress"`

	Holder string `json:"holder"` // of a run
}

func (l line) event() Event {
	return Event{
		Time: l.Time, What: l.What, Unit: dag.Ref{Stage: l.Stage, Unit: l.Unit}, Key: l.Key,
		Host: l.Host, Job: l.Job, Error: l.Error, Final: l.Final, Progress: l.Progress,
	}
}

// Reader reads a log that may still grow.
type Reader struct {
	path string
	read int64
}

// NewReader reads the log at path, which need not be there yet.
func NewReader(path string) *Reader { return &Reader{path: path} }

// Next are the events that have been added since the last call. A line that is
// not whole yet is left for the next call; what is no event is passed over.
func (r *Reader) Next() ([]Event, error) {
	file, err := ownfile.Open(r.path)
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
	whole := text[:bytes.LastIndexByte(text, '\n')+1]
	r.read += int64(len(whole))
	var events []Event
	for text := range bytes.Lines(whole) {
		var l line
		if json.Unmarshal(text, &l) != nil || l.Unit == "" {
			continue
		}
		events = append(events, l.event())
	}
	return events, nil
}
