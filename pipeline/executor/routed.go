package executor

import (
	"context"
	"sync"

	"speceval/pipeline/dag"
)

// Routed runs the units of some stages here and all others elsewhere.
type Routed struct {
	Here      dag.Executor
	Elsewhere dag.Executor
	IsHere    func(stage string) bool
}

var _ dag.Executor = Routed{}

// Execute hands each task to the executor of its stage. Tasks that one executor
// cannot start yet do not keep the other's waiting.
func (r Routed) Execute(ctx context.Context, ready <-chan dag.Task, results chan<- dag.Result) {
	here, elsewhere := make(chan dag.Task), make(chan dag.Task)
	var both sync.WaitGroup
	both.Go(func() { r.Here.Execute(ctx, here, results) })
	both.Go(func() { r.Elsewhere.Execute(ctx, elsewhere, results) })
	var waiting []dag.Task // for a place here
	for ready != nil || len(waiting) > 0 {
		var next chan<- dag.Task // nil: none waits
		var head dag.Task
		if len(waiting) > 0 {
			next, head = here, waiting[0]
		}
		select {
		case task, open := <-ready:
			switch {
			case !open:
				ready = nil
			case r.IsHere(task.Ref.Stage):
				waiting = append(waiting, task)
			default:
				elsewhere <- task
			}
		case next <- head:
			waiting = waiting[1:]
		}
	}
	close(here)
	close(elsewhere)
	both.Wait()
}
