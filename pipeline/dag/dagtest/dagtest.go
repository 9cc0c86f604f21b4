// Package dagtest runs stages in tests, without locks, workers or a terminal.
package dagtest

import (
	"context"
	"testing"
	"time"

	"speceval/pipeline/dag"
)

// Origin is what the manifests of [Run] say they were run by.
var Origin = dag.Origin{Commit: "test", GoVersion: "test", Host: "test", Command: "go test"}

// Run runs every unit of the stages that is not fresh, one after the other, in
// outDir. Any fault of a stage or failure of a unit ends the test.
func Run(t testing.TB, stages []dag.Stage, outDir string) {
	t.Helper()
	graph, err := dag.New(stages)
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := graph.Scan(t.Context(), outDir)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := snapshot.Plan(dag.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	runner := dag.Runner{Executor: Serial{}, Observer: dag.NoObserver{}, Origin: Origin, Now: epoch}
	if err := runner.Run(t.Context(), nil, plan); err != nil {
		t.Fatal(err)
	}
}

func epoch() time.Time { return time.Unix(0, 0) }

// Serial runs one unit at a time.
type Serial struct{}

var _ dag.Executor = Serial{}

// Execute runs the tasks in the order in which they come.
func (Serial) Execute(ctx context.Context, ready <-chan dag.Task, results chan<- dag.Result) {
	for task := range ready {
		results <- dag.Result{Task: task, Err: task.Run(ctx)}
	}
}
