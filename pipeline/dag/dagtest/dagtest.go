// Package dagtest runs stages in tests, without locks, workers or a terminal.
package dagtest

import (
	"context"
	"testing"
	"time"

	"speceval/pipeline/dag"
)

// Origin stands in the manifests of [Run].
var Origin = dag.Origin{Commit: "test", GoVersion: "test", Host: "test", Command: "go test"}

// Run runs every unit of the stages that is not fresh, one after the other, in
// outDir. Any fault of a stage or failure of a unit ends the test.
func Run(t testing.TB, stages []dag.Stage, outDir string) {
	t.Helper()
	Select(t, stages, outDir, dag.Selection{})
}

// Select is Run for the selected stages alone.
func Select(t testing.TB, stages []dag.Stage, outDir string, selection dag.Selection) {
	t.Helper()
	if err := Try(t, stages, outDir, selection); err != nil {
		t.Fatal(err)
	}
}

// Try is Select, and returns the failure of a unit.
func Try(t testing.TB, stages []dag.Stage, outDir string, selection dag.Selection) error {
	t.Helper()
	runner := dag.Runner{Executor: Serial{}, Origin: Origin, Now: epoch}
	return runner.Run(t.Context(), nil, Plan(t, stages, outDir, selection))
}

// Scan looks at what is stored in outDir of the stages. A fault of a stage ends
// the test.
func Scan(t testing.TB, stages []dag.Stage, outDir string) *dag.Snapshot {
	t.Helper()
	graph, err := dag.New(stages)
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := graph.Scan(t.Context(), outDir)
	if err != nil {
		t.Fatal(err)
	}
	return snapshot
}

// Plan is the plan of a run of the selection in outDir. An input that is not
// there ends the test.
func Plan(t testing.TB, stages []dag.Stage, outDir string, selection dag.Selection) *dag.Plan {
	t.Helper()
	plan, err := Scan(t, stages, outDir).Plan(selection)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func epoch() time.Time { return time.Unix(0, 0) }

// Serial runs one unit at a time.
type Serial struct{}

// Execute runs the tasks in the order in which they come.
func (Serial) Execute(ctx context.Context, ready <-chan dag.Task, results chan<- dag.Result) {
	for task := range ready {
		results <- dag.Result{Task: task, Err: task.Run(ctx)}
	}
}
