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
	"strings"

	"speceval/pipeline/dag"
)

// Reader reads the log at Path, which may still grow and need not be there yet.
type Reader struct {
	Path string
	read int64
}

// Next returns the events of units and of the run that have been added since the last call.
// Anything else is passed over, and a line that is not whole yet is left for the next call.
func (r *Reader) Next() (events []Event, err error) {
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
		if json.Unmarshal(line, &e) == nil && (e.ID != "" || e.What == RunStarted || e.What == RunEnded) {
			e.Log = r.Path
			events = append(events, e)
		}
	}
	return events, nil
}

// Stand returns the last event of each unit that is not done by the newest log of a run in a
// folder, in their order: of units that failed and, while that run holds the lock of the
// output folder, of queued and started ones. Holder has the lock, see [dag.Holder].
func Stand(dir, holder string) (open []Event, err error) {
	logs := runLogs(dir)
	if len(logs) == 0 {
		return nil, nil
	}
	events, err := (&Reader{Path: logs[len(logs)-1]}).Next()
	last, alive := make(map[dag.Ref]int), false // index into events
	for i, e := range events {
		switch e.What {
		case RunStarted, RunEnded:
			alive = e.Run != nil && holder != "" && strings.HasPrefix(e.Holder, holder)
		case Done, Stopped:
			delete(last, e.Unit())
		case Queued, Started, Failed:
			last[e.Unit()] = i
		}
	}
	for _, i := range slices.Sorted(maps.Values(last)) {
		if e := events[i]; e.What == Failed || alive {
			open = append(open, e)
		}
	}
	return open, err
}
