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

	"speceval/pipeline/dag"
)

// Reader reads the log at Path, which may still grow and need not be there yet.
type Reader struct {
	Path string
	read int64
}

// Next are the events of units that have been added since the last call.
func (r *Reader) Next() ([]Event, error) {
	events, err := r.next()
	return slices.DeleteFunc(events, func(e Event) bool { return e.ID == "" }), err
}

// next are all events that have been added. What is none of ours is passed over, and a
// line that is not whole yet is left for the next call.
func (r *Reader) next() (events []Event, err error) {
	file, err := os.Open(r.Path)
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
	whole := bytes.LastIndexByte(text, '\n') + 1
	r.read += int64(whole)
	for line := range bytes.Lines(text[:whole]) {
		var e Event
		if json.Unmarshal(line, &e) == nil {
			e.Log = r.Path
			events = append(events, e)
		}
	}
	return events, nil
}

// Standing is the state of the units that are not done, by the log of a run.
type Standing struct {
	Holder string // as in Run
	Ended  bool
	Open   []Event // the last event of each unit that is queued, started or failed, in their order
}

// Stand reads the newest log of a run in a folder. Without one it stands empty.
func Stand(dir string) (s Standing, err error) {
	logs := runLogs(dir)
	if len(logs) == 0 {
		return s, nil
	}
	events, err := (&Reader{Path: logs[len(logs)-1]}).next()
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
	return s, err
}
