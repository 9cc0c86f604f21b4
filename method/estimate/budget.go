package estimate

import (
	"context"
	"errors"
	"fmt"
	"math"

	"speceval/method/design"
	"speceval/method/informed"
)

// Planner forecasts evaluations of one benchmark in five stages before any rollout is
// spent, each with the design for its budget, and finds the least budget for a standard
// error.
type Planner struct {
	Prior *informed.Prior // of the tasks, 2 to design.MostTasks: by what donors know, or without any
	Seed  uint64          // of the panels of designs
}

// Expectation is a budget with the error that is expected of it.
type Expectation struct {
	Budget        int     // b, average rollouts per task
	Pilots        int     // m, at least 1 and less than Budget
	StandardError float64 // of the estimate
	UniformBudget int     // rollouts per task at which Uniform has this error, rounded up
}

// ErrTooPrecise means that no budget up to design.MostBudget has the standard
// error that was asked for.
var ErrTooPrecise = errors.New("more rollouts per task than can be planned")

// Stages and precision of designs while a budget is searched for.
const (
	plannedStages     = 5
	plannedPanels     = 32 // of a replicate
	plannedReplicates = 2
)

// idealRisk is about the variance relative to Uniform's of an allocation with
// known variances, under the reference prior and for the paper's profiles.
const idealRisk = 0.35

// Expect returns the design for a budget of b rollouts per task with its expected
// standard error, √(Risk·v̄/(N·b)) under the prior. Its own error is about 3%. A budget or
// a number of tasks out of range is an error of design.ComputeInStages.
func (p Planner) Expect(ctx context.Context, budget int) (Expectation, error) {
	d, err := design.ComputeInStages(ctx, design.StagesSettings{
		Prior: informed.Suite{p.Prior}, Budget: budget, Stages: plannedStages, Panels: max(2, min(plannedPanels, 3200/p.Prior.Tasks())), Replicates: plannedReplicates, Seed: p.Seed,
	})
	if err != nil {
		return Expectation{}, err
	}
	return Expectation{
		Budget: budget, Pilots: d.Plan.Pilots, StandardError: math.Sqrt(d.Risk * p.single() / float64(budget)),
		UniformBudget: int(math.Ceil(float64(budget)/d.Risk - 1e-9)),
	}, nil
}

// single is the expected variance of an estimate by one rollout of each task.
func (p Planner) single() float64 {
	tasks := float64(p.Prior.Tasks())
	return p.Prior.Variance() / (tasks * tasks)
}

// Least returns the expectation for the least budget with an expected standard
// error of at most target. The error falls with the budget, but for the noise of
// Expect, and so does the search. ErrTooPrecise is in the error if no budget is
// large enough.
func (p Planner) Least(ctx context.Context, target float64) (Expectation, error) {
	if !(target > 0) {
		return Expectation{}, fmt.Errorf("a standard error of %v: want a number above 0", target)
	}
	if ideal := p.single() / (target * target) * idealRisk; ideal > design.MostBudget {
		return Expectation{}, fmt.Errorf("a standard error of %g takes %w: some %.0f even if all variances were known", target, ErrTooPrecise, ideal)
	}
	low, found, err := p.bracket(ctx, target)
	if err != nil {
		return Expectation{}, err
	}
	for found.Budget-low > 1 {
		e, err := p.Expect(ctx, (low+found.Budget)/2)
		if err != nil {
			return Expectation{}, err
		}
		if e.StandardError <= target {
			found = e
		} else {
			low = e.Budget
		}
	}
	return found, nil
}

// bracket returns a budget whose error is too large, and a larger one whose error
// is small enough.
func (p Planner) bracket(ctx context.Context, target float64) (low int, found Expectation, err error) {
	low, high := 1, 2
	for {
		e, err := p.Expect(ctx, high)
		if err != nil || e.StandardError <= target {
			return low, e, err
		}
		if high == design.MostBudget {
			return low, e, fmt.Errorf("a standard error of %.5f takes %w: with %d it is %.5f", target, ErrTooPrecise, high, e.StandardError)
		}
		low, high = high, min(design.MostBudget, max(high+1, int(float64(high)*min(8, math.Pow(e.StandardError/target, 2)*1.05))))
	}
}
