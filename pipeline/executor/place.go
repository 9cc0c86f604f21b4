package executor

import (
	"context"
	"os"
	"os/exec"

	"speceval/internal/slurm"
	"speceval/pipeline/dag"
)

// Place is where the units of a plan run.
type Place struct {
	dag.Executor
	Jobs    bool // some of them in jobs, which go on whatever happens to others
	Beside  bool // jobs of an earlier run write in the output folder already
	Earlier int  // units at which those are at work
}

// RefusedError is what Slurm here cannot do of what the configuration wants.
type RefusedError struct{ Err error }

func (e *RefusedError) Error() string { return e.Err.Error() }
func (e *RefusedError) Unwrap() error { return e.Err }

// PlaceOf is where the units of a plan run: so many at a time here, or in jobs
// where these have settings. Folder is that of the batches. Without jobs of its
// own a run must not begin beside those of an earlier one, which is an error.
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
		here.Beside = live != nil
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
