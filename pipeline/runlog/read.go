package runlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"speceval/internal/rowfile"
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

// kept is how many logs of runs a folder keeps; the oldest go first.
const kept = 20

// create makes the log of a run in a folder, and removes the oldest ones.
func create(dir string, at time.Time, pid int) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	name := fmt.Sprintf("run-%s-%d.jsonl", at.UTC().Format("20060102T150405.000Z"), pid)
	file, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return nil, err
	}
	if all, err := runLogs(dir); err == nil {
		for _, old := range all[:max(0, len(all)-kept)] {
			os.Remove(old) // what cannot be removed is the next run's to remove
		}
	}
	return file, nil
}

// runLogs are the paths of the logs of runs in a folder, the oldest first.
func runLogs(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir) // sorted by name, which has the time
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for the logs of runs: %w", err)
	}
	var paths []string
	for _, entry := range entries {
		if name := entry.Name(); strings.HasPrefix(name, "run-") && strings.HasSuffix(name, ".jsonl") {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	return paths, nil
}

// lasting writes lines to a file, and goes on where it cannot: a full disk must
// not end a run that could do without its log.
type lasting struct {
	file *os.File
	torn bool // the file ends within a line
	warn func(error)
	said bool // that lines are lost
}

func (l *lasting) Write(line []byte) (int, error) {
	text := line
	if l.torn {
		text = append([]byte{'\n'}, line...)
	}
	n, err := l.file.Write(text)
	if err == nil {
		l.torn = false
		return len(line), nil
	}
	l.torn = l.torn || n > 0
	if !l.said {
		l.said = true
		l.warn(err)
	}
	return len(line), nil
}

// The history of all units is one Parquet file with a row for each manifest: for people
// and queries. No key depends on it.

// RunsSchema names the layout of the file.
const RunsSchema = "runs.v1"

// Row is how a unit ran for the last time.
type Row struct {
	Stage      string `parquet:"stage"`
	Unit       string `parquet:"unit"`
	Key        string `parquet:"key"`
	Provenance string `parquet:"provenance"`

	Host      string    `parquet:"host"`
	Job       string    `parquet:"job"`       // of the scheduler; empty for a unit that had none
	Attempt   int32     `parquet:"attempt"`   // from 1
	Submitted time.Time `parquet:"submitted"` // to the scheduler; Started where there was none
	Started   time.Time `parquet:"started"`
	Finished  time.Time `parquet:"finished"`

	QueueSeconds float64 `parquet:"queue_seconds"` // from Submitted to the start of the job's process, which may run other units first
	WallSeconds  float64 `parquet:"wall_seconds"`
	CPUSeconds   float64 `parquet:"cpu_seconds"` // of the unit's own thread
	PeakBytes    int64   `parquet:"peak_bytes"`  // largest resident set of the process by then

	OutputBytes int64  `parquet:"output_bytes"`
	OutputRows  *int64 `parquet:"output_rows"` // of the tabular outputs; nil without any

	Commit  string `parquet:"commit"` // of the program that ran it, ending in "-dirty" if it had uncommitted changes
	Command string `parquet:"command"`
}

// RowOf is the row of a unit with its manifest.
func RowOf(unit dag.Ref, m *dag.Manifest) Row {
	r := Row{
		Stage: unit.Stage, Unit: unit.Unit, Key: m.Key, Provenance: m.Provenance,
		Host: m.Host, Attempt: 1, Submitted: m.Start, Started: m.Start, Finished: m.Finished(),
		WallSeconds: m.WallSeconds, CPUSeconds: m.CPUSeconds, PeakBytes: m.PeakBytes,
		Commit: m.Revision(), Command: m.Command,
	}
	if q := m.Queue; q != nil {
		r.Job, r.Attempt, r.Submitted, r.QueueSeconds = q.Job, int32(q.Attempt), q.Submitted, q.QueueSeconds
	}
	for _, f := range m.Outputs {
		r.OutputBytes += f.Bytes
		if f.Rows < 0 {
			continue
		}
		if r.OutputRows == nil {
			r.OutputRows = new(int64)
		}
		*r.OutputRows += int64(f.Rows)
	}
	return r
}

// Rows are those of all units that have a manifest, in order.
func Rows(made iter.Seq2[dag.Ref, *dag.Manifest]) []Row {
	var rows []Row
	for unit, m := range made {
		rows = append(rows, RowOf(unit, m))
	}
	return rows
}

// WriteRuns writes rows as a Parquet file; commit is that of the program that does.
func WriteRuns(w io.Writer, rows []Row, commit string) error {
	return rowfile.Write(w, rows, map[string]string{"speceval.schema": RunsSchema, "speceval.commit": commit})
}
