package runlog

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"speceval/internal/rowfile"
	"speceval/pipeline/dag"
)

var runsNoon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func manifest() *dag.Manifest {
	return &dag.Manifest{
		Key: "abc", Provenance: "computed", Start: runsNoon, WallSeconds: 2.5, CPUSeconds: 2, PeakBytes: 9,
		Outputs: []dag.File{{Path: "a", Bytes: 10, Rows: 3}, {Path: "b", Bytes: 5, Rows: -1}, {Path: "c", Bytes: 1, Rows: 4}},
		Origin:  dag.Origin{Commit: "f00", Dirty: true, Host: "n1", Command: "speceval run"},
	}
}

func TestRows(t *testing.T) {
	seven := int64(7)
	here := Row{
		Stage: "replay", Unit: "u", Key: "abc", Provenance: "computed", Host: "n1", Attempt: 1,
		Submitted: runsNoon, Started: runsNoon, Finished: runsNoon.Add(2500 * time.Millisecond),
		WallSeconds: 2.5, CPUSeconds: 2, PeakBytes: 9, OutputBytes: 16, OutputRows: &seven, Commit: "f00-dirty", Command: "speceval run",
	}
	queued := manifest()
	queued.Queue = &dag.Queue{Job: "12_3", Submitted: runsNoon.Add(-time.Minute), QueueSeconds: 40, Attempt: 2}
	queued.Outputs = queued.Outputs[1:2]
	there := here
	there.Unit, there.Job, there.Attempt, there.Submitted, there.QueueSeconds = "v", "12_3", 2, runsNoon.Add(-time.Minute), 40
	there.OutputBytes, there.OutputRows = 5, nil
	rows := Rows(func(yield func(dag.Ref, *dag.Manifest) bool) {
		_ = yield(dag.Ref{Stage: "replay", Unit: "u"}, manifest()) && yield(dag.Ref{Stage: "replay", Unit: "v"}, queued)
	})
	var b bytes.Buffer
	if err := WriteRuns(&b, rows, "abc"); err != nil {
		t.Fatal(err)
	}
	got, footer, err := rowfile.Decode[Row](b.Bytes(), "runs.parquet")
	if err != nil || footer["speceval.schema"] != "runs.v1" || footer["speceval.commit"] != "abc" {
		t.Errorf("footer %v, %v", footer, err)
	}
	if want := []Row{here, there}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func BenchmarkWrite(b *testing.B) {
	for b.Loop() {
		rows := Rows(func(yield func(dag.Ref, *dag.Manifest) bool) {
			for range 10_000 {
				yield(dag.Ref{Stage: "replay", Unit: "u"}, manifest())
			}
		})
		if err := WriteRuns(new(bytes.Buffer), rows, "abc"); err != nil {
			b.Fatal(err)
		}
	}
}
