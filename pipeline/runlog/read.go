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

	"speceval/internal/store/files"
	"speceval/pipeline/dag"
)

// parse reads the whole lines of a log; what is none of ours is passed over. It returns
// their bytes: a last line that is not whole yet is left.
func parse(text []byte, path string) (events []Event, whole int) {
	whole = bytes.LastIndexByte(text, '\n') + 1
	for line := range bytes.Lines(text[:whole]) {
		var e Event
		if json.Unmarshal(line, &e) == nil {
			e.Log = path
			events = append(events, e)
		}
	}
	return events, whole
}

// Reader reads a log that may still grow.
type Reader struct {
	path string
	read int64
}

// NewReader reads the log at path, which need not be there yet.
func NewReader(path string) *Reader { return &Reader{path: path} }

// Next are the events of units that have been added since the last call. A line that is
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
	events, whole := parse(text, r.path)
	r.read += int64(whole)
	return slices.DeleteFunc(events, func(e Event) bool { return e.ID == "" }), nil
}

// Standing is what the log of a run says of the units that are not done.
type Standing struct {
	Holder string // as in Run
	Ended  bool
	Open   []Event // the last event of each unit that is queued, started or failed, in their order
}

// mostBytes is the size beyond which a file is refused as a log.
const mostBytes = 1 << 30

// Stand reads the newest log of a run in a folder. Without one it stands empty.
func Stand(dir string) (s Standing, err error) {
	logs := runLogs(dir)
	if len(logs) == 0 {
		return s, nil
	}
	path := logs[len(logs)-1]
	text, err := files.ReadInput(path, files.Kind{Name: "a log", MaxBytes: mostBytes})
	if err != nil {
		return s, fmt.Errorf("read the log of the last run: %w", err)
	}
	events, _ := parse(text, path)
	open := make(map[dag.Ref]int) // place in events of the last of each unit that is not done
	for i, e := range events {
		switch e.What {
		case RunStarted:
			s.Ended = false
			if e.Run != nil {
				s.Holder = e.Holder
			}
		case RunEnded:
			s.Ended = true
		case Done, Stopped:
			delete(open, e.Unit())
		case Queued, Started, Failed:
			open[e.Unit()] = i
		}
	}
	for _, i := range slices.Sorted(maps.Values(open)) {
		s.Open = append(s.Open, events[i])
	}
	return s, nil
}
