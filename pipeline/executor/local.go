// Package executor decides where units run: for now, on this machine.
package executor

import (
	"context"
	"sync"

	"speceval/pipeline/dag"
)

// Local runs units on this machine, Workers at a time (at least one).
type Local struct{ Workers int }

var _ dag.Executor = Local{}

// Execute runs the tasks that arrive on ready until it is closed.
func (l Local) Execute(ctx context.Context, ready <-chan dag.Task, results chan<- dag.Result) {
	var workers sync.WaitGroup
	for range max(1, l.Workers) {
		workers.Go(func() {
			for task := range ready {
				results <- dag.Result{Task: task, Err: task.Run(ctx)}
			}
		})
	}
	workers.Wait()
}
