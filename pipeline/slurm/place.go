// Package slurm runs units where the configuration says: on this machine, in job arrays of
// Slurm, or in jobs that commands of the user's submit. One executor packs units into the
// elements of jobs, submits, polls and cancels; a cluster is a scheduler to it. What it
// hears of a job decides its messages, retries and resources: only a manifest says that a
// unit is done.
package slurm

import (
	"context"
	"fmt"
	"sync"

	"speceval/pipeline/config"
	"speceval/pipeline/dag"
)

// Local runs units on this machine, Workers at a time (at least one).
type Local struct{ Workers int }

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

// Routed runs the units of some stages here and all others elsewhere.
type Routed struct {
	Here      dag.Executor
	Elsewhere dag.Executor
	IsHere    func(stage string) bool
}

// Execute hands each task to the executor of its stage. Tasks that one executor
// cannot start yet do not keep the other's waiting.
func (r Routed) Execute(ctx context.Context, ready <-chan dag.Task, results chan<- dag.Result) {
	here, elsewhere := make(chan dag.Task), make(chan dag.Task)
	var both, handing sync.WaitGroup
	both.Go(func() { r.Here.Execute(ctx, here, results) })
	both.Go(func() { r.Elsewhere.Execute(ctx, elsewhere, results) })
	for task := range ready {
		if r.IsHere(task.Ref.Stage) {
			handing.Go(func() { here <- task }) // when there is a place
		} else {
			elsewhere <- task
		}
	}
	handing.Wait()
	close(here)
	close(elsewhere)
	both.Wait()
}

// PlaceOf is the executor of the units of a plan: so many at a time here, or in jobs where the
// stage has resources; inJobs reports whether any run there, and go on whatever happens to others.
// At earlier units jobs of an earlier run are at work, which write in the output folder. Without
// jobs of its own a run must not begin while those run, which is an error. A cluster that does not
// answer counts as one without jobs.
func PlaceOf(ctx context.Context, plan *dag.Plan, workers int, s Settings) (x dag.Executor, inJobs bool, earlier int, err error) {
	here := Local{Workers: workers}
	isHere := func(stage string) bool { _, inJobs := s.Resources[stage]; return !inJobs }
	var stages []string
	for _, stage := range plan.Stages {
		if !isHere(stage.Stage.Name) && len(stage.Run) > 0 {
			stages = append(stages, stage.Stage.Name)
		}
	}
	if len(stages) > 0 {
		x, err := Attach(ctx, s, stages...)
		if err != nil {
			return here, false, 0, err
		}
		_, earlier = live(x.arrays)
		return Routed{Here: here, Elsewhere: x, IsHere: isHere}, true, earlier, nil
	}
	arrays, away, err := stored(ctx, s.Run, s.Folder)
	ids, units := live(arrays)
	if err != nil || away != nil || units == 0 {
		return here, false, 0, err
	}
	if !s.InJobs() {
		kind, cancel := config.ExecutorSlurm, "scancel"
		if a := arrays[0]; a.Status != "" {
			kind, cancel = config.ExecutorCommand, a.Cancel
		}
		err = fmt.Errorf("jobs of an earlier run are at work in this folder (%v, %d units): wait for them with executor.kind = %q, or cancel them with %s", ids, units, kind, cancel)
	}
	return here, false, units, err
}
