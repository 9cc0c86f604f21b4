// Package executor runs units on this machine, or in job arrays of Slurm.
package executor

import (
	"cmp"
	"context"
	"math"
	"os"
	"os/exec"
	"slices"
	"sync"

	"speceval/internal/slurm"
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

// Place is where the units of a plan run.
type Place struct {
	dag.Executor
	Jobs    bool // some of them in jobs, which go on whatever happens to others
	Shared  bool // jobs of an earlier run write in the output folder already
	Earlier int  // units at which those are at work
}

// RefusedError is what Slurm here cannot do of what the configuration wants.
type RefusedError struct{ Err error }

func (e *RefusedError) Error() string { return e.Err.Error() }
func (e *RefusedError) Unwrap() error { return e.Err }

// PlaceOf is where the units of a plan run: so many at a time here, or in jobs
// where these have settings. Folder is that of the batches. Without jobs of its
// own a run must not begin while those of an earlier one run, which is an error.
func PlaceOf(ctx context.Context, plan *dag.Plan, workers int, client *slurm.Client, folder string, jobs *Settings) (Place, error) {
	here := Place{Executor: Local{Workers: workers}}
	live := idle(ctx, client, folder)
	if jobs == nil {
		return here, live
	}
	var stages []string
	for _, stage := range plan.Stages {
		if _, inJobs := jobs.Stages[stage.Stage.Name]; inJobs && len(stage.Run) > 0 {
			stages = append(stages, stage.Stage.Name)
		}
	}
	if len(stages) == 0 {
		here.Shared = live != nil
		return here, nil
	}
	if err := slurm.Installed(exec.LookPath); err != nil {
		return Place{}, &RefusedError{err}
	}
	x, err := Attach(ctx, *jobs)
	if err != nil {
		return Place{}, err
	}
	for _, stage := range stages {
		if err := x.Check(ctx, stage); err != nil {
			return Place{}, &RefusedError{err}
		}
	}
	isHere := func(stage string) bool { _, inJobs := jobs.Stages[stage]; return !inJobs }
	return Place{Routed{Here: here.Executor, Elsewhere: x, IsHere: isHere}, true, x.Live() > 0, x.Live()}, nil
}

// idle is an error if jobs of an earlier run write in the output folder of
// these batches.
func idle(ctx context.Context, client *slurm.Client, folder string) error {
	if _, err := os.Stat(folder); err != nil || slurm.Installed(exec.LookPath) != nil {
		return nil
	}
	return Idle(ctx, client, folder)
}

// piece is a unit on its way through Slurm.
type piece struct {
	task    dag.Task
	attempt int // from 1
	lost    int // attempts that ended for no fault of the unit
	minutes int // time limit that it needs; 0: as configured
	memory  int // MiB that it needs; 0: as configured, slurm.WholeNode: all of a node's
	alone   bool
	last    error // why the attempt before failed; nil of the first
}

// mostTogether bounds the units of an element: its line must fit a command.
const mostTogether = 1000

// pack puts units together in elements that take about so many seconds each. A
// unit whose duration is unknown, or that has failed before, has
// an element of its own. The others go, the longest first, each to the element
// with the least to do so far.
func pack(pieces []*piece, seconds float64) [][]*piece {
	var alone, together []*piece
	sum := 0.0
	for _, p := range pieces {
		if p.alone || p.task.Seconds <= 0 {
			alone = append(alone, p)
			continue
		}
		together = append(together, p)
		sum += p.task.Seconds
	}
	slices.SortStableFunc(together, func(a, b *piece) int { return cmp.Compare(b.task.Seconds, a.task.Seconds) })
	n := 1 + len(together)/mostTogether
	if seconds > 0 {
		n = max(n, int(math.Ceil(sum/seconds)))
	} else {
		n = len(together)
	}
	n = min(n, len(together))
	elements, loads := make([][]*piece, n), make([]float64, n) // loads in seconds
	for _, p := range together {
		least := 0
		for i := range loads {
			if loads[i] < loads[least] {
				least = i
			}
		}
		elements[least] = append(elements[least], p)
		loads[least] += p.task.Seconds
	}
	for _, p := range alone {
		elements = append(elements, []*piece{p})
	}
	return elements
}

// slack is how much longer than it is known to take an element may take.
const slack = 4

// minutesOf is the time limit of an element that asks for no more than the
// configured one: this, or more where its units are known to take long.
func minutesOf(element []*piece, configured, workers int) int {
	if configured <= 0 {
		return 0
	}
	sum, longest := 0.0, 0.0
	for _, p := range element {
		sum += p.task.Seconds
		longest = max(longest, p.task.Seconds)
	}
	seconds := max(longest, sum/float64(max(1, workers)))
	return max(configured, int(math.Ceil(slack*seconds/60)))
}
