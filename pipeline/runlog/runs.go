package runlog

import (
	"io"
	"time"

	"speceval/internal/store/rowfile"
	"speceval/pipeline/dag"
)

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

// Rows are a row for each unit with a manifest, in order.
func Rows(records []dag.Record) (rows []Row) {
	for _, of := range records {
		m := of.Last
		if m == nil {
			continue
		}
		r := Row{
			Stage: of.Unit.Stage, Unit: of.Unit.Unit, Key: m.Key, Provenance: m.Provenance,
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
		rows = append(rows, r)
	}
	return rows
}

// WriteRuns writes rows as a Parquet file; commit is the program's.
func WriteRuns(w io.Writer, rows []Row, commit string) error {
	return rowfile.Write(w, rows, map[string]string{"speceval.schema": RunsSchema, "speceval.commit": commit})
}
