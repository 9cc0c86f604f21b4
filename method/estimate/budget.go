package estimate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"speceval/internal/seed"
	"speceval/method/design"
	"speceval/method/informed"
	"speceval/method/neyman"
)

// Planner forecasts evaluations of one benchmark by HBN before any rollout is
// spent, each with the design for its budget, and finds the least budget for a
// standard error.
type Planner struct {
	Tasks int    // N, from 2 to design.MostTasks
	Seed  uint64 // of the panels of designs and of the draws of forecasts

	// Earlier is the posterior of the same tasks given earlier rollouts, and
	// Prior the prior of it. Both are nil if nothing but the reference prior is
	// known.
	Prior   *neyman.Prior
	Earlier *neyman.Update

	// Informed is the prior of evaluations that know donors; nil: they know none.
	Informed *informed.Prior

	// InStages plans evaluations in five stages, where Earlier is nil; else they are
	// HBN's, in two.
	InStages bool
}

// Expectation is a plan with the error that it is expected to have.
type Expectation struct {
	Plan
	StandardError float64 // expected, of the estimate
	UniformBudget int     // rollouts per task at which Uniform has this error, rounded up
}

// ErrTooPrecise means that no budget up to design.MostBudget has the standard
// error that was asked for.
var ErrTooPrecise = errors.New("more rollouts per task than can be planned")

// Precision of designs and forecasts while a budget is searched for.
const (
	plannedPanels     = 1024
	plannedReplicates = 2
	plannedDraws      = 256
)

// idealRisk is about the variance relative to Uniform's of an allocation with
// known variances, under the reference prior and for the paper's profiles.
const idealRisk = 0.35

// Expect returns the design for a budget of b rollouts per task with its expected
// standard error: √(Risk·v̄/(N·b)) under the reference prior, or what Predict finds
// given the earlier rollouts. Its own error is about 3%. A budget or a number of
// tasks out of range is an error of design.Compute.
func (p Planner) Expect(ctx context.Context, budget int) (Expectation, error) {
	if p.Earlier == nil && (p.InStages || p.Informed != nil) {
		return p.expectInStages(ctx, budget)
	}
	d, err := design.Compute(ctx, design.Settings{Tasks: p.Tasks, Budget: budget, Panels: plannedPanels, Replicates: plannedReplicates, Seed: p.Seed})
	if err != nil {
		return Expectation{}, err
	}
	e := Expectation{Plan: Plan{Budget: budget, Pilots: d.Pilots, Weight: d.Weight}, StandardError: d.StandardError(neyman.MeanVariance)}
	if p.Earlier != nil {
		stream := seed.Root(p.Seed).Child("plan").Index(budget).Stream()
		f, err := Predict(p.Prior, p.Earlier.Mixture(), e.Plan, plannedDraws, &stream)
		if err != nil {
			return Expectation{}, err
		}
		e.StandardError = f.StandardError
	}
	e.UniformBudget = int(math.Ceil(p.single()/(e.StandardError*e.StandardError) - 1e-9))
	return e, nil
}

// Stages and precision of designs while a budget is searched for.
const (
	plannedStages     = 5
	plannedSimulated  = 32 // panels of a replicate
	plannedSimulation = 2  // replicates
)

// expectInStages is Expect for evaluations in stages.
func (p Planner) expectInStages(ctx context.Context, budget int) (Expectation, error) {
	prior := p.Informed
	if prior == nil {
		var err error
		if prior, err = informed.New(p.Tasks, nil); err != nil {
			return Expectation{}, err
		}
	}
	d, err := design.ComputeInStages(ctx, design.StagesSettings{
		Prior: informed.Suite{prior}, Budget: budget, Stages: plannedStages, Panels: max(2, min(plannedSimulated, 3200/p.Tasks)), Replicates: plannedSimulation, Seed: p.Seed,
	})
	if err != nil {
		return Expectation{}, err
	}
	e := Expectation{Plan: Plan{Budget: budget, Pilots: d.Plan.Pilots, Weight: d.Plan.Weight}}
	e.StandardError = math.Sqrt(d.Risk * p.single() / float64(budget))
	e.UniformBudget = int(math.Ceil(float64(budget)/d.Risk - 1e-9))
	return e, nil
}

// single is the expected variance of an estimate by one rollout of each task.
func (p Planner) single() float64 {
	if p.Informed != nil {
		return p.drawn()
	}
	if p.Earlier == nil {
		return neyman.MeanVariance / float64(p.Tasks)
	}
	sum := 0.0
	for i := range p.Tasks {
		_, v := p.Earlier.Moments(i)
		sum += v
	}
	return sum / float64(p.Tasks*p.Tasks)
}

// drawn is the expected variance of a mean of one rollout per task, for tasks drawn from the
// informed prior.
func (p Planner) drawn() float64 {
	stream := seed.Root(p.Seed).Child("plan with donors").Stream()
	ps := make([]float64, p.Tasks)
	sum := 0.0
	for range plannedDraws {
		p.Informed.Draw(&stream, ps)
		for _, q := range ps {
			sum += q * (1 - q)
		}
	}
	return sum / plannedDraws / float64(p.Tasks*p.Tasks)
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

// Forecast is the expected error of an evaluation with a prior that knows something of the
// tasks.
type Forecast struct {
	StandardError float64 // of the estimate: the root of its expected square
	Uniform       float64 // of Uniform's at the same budget
}

// Plan is how an evaluation is to spend its budget.
type Plan struct {
	Budget int     // b, average rollouts per task
	Pilots int     // m, at least 1 and less than Budget
	Weight float64 // w, of the pilot
}

// Predict expects the standard error of an evaluation by HBN, given what
// is known of the same tasks: over draws of the tasks' probabilities
// from that, and of a pilot of each. Its own error is about 3% with 256 draws.
func Predict(prior *neyman.Prior, earlier neyman.Mixture, p Plan, draws int, source rand.Source) (Forecast, error) {
	switch {
	case draws < 1:
		return Forecast{}, errors.New("a forecast needs a draw at least")
	case p.Pilots < 1 || p.Pilots >= p.Budget:
		return Forecast{}, fmt.Errorf("a pilot of %d rollouts per task does not fit a budget of %d", p.Pilots, p.Budget)
	}
	n := earlier.Tasks
	posterior, work := prior.Pilot(p.Pilots), prior.NewWork()
	ps, scores := make([]float64, n), make([]float64, n)
	successes := make([]int, n)
	var spread, shrunk float64 // Σ v and Σ v/L, over all draws
	for range draws {
		earlier.Draw(source, ps)
		counts := make([]int, p.Pilots+1)
		for i, q := range ps {
			successes[i] = binomial(p.Pilots, q, source)
			counts[successes[i]]++
		}
		by := posterior.Scores(counts, work)
		for i, s := range successes {
			scores[i] = by.At(s)
		}
		allocation, err := neyman.Allocate(scores, n*(p.Budget-p.Pilots))
		if err != nil {
			return Forecast{}, err
		}
		for i, q := range ps {
			spread += q * (1 - q)
			shrunk += q * (1 - q) / float64(allocation[i])
		}
	}
	w := p.Weight
	tasks := float64(n) * math.Sqrt(float64(draws))
	return Forecast{
		StandardError: math.Sqrt(spread*w*w/float64(p.Pilots)+shrunk*(1-w)*(1-w)) / tasks,
		Uniform:       math.Sqrt(spread/float64(p.Budget)) / tasks,
	}, nil
}

// binomial draws the number of successes among the given number of rollouts.
func binomial(rollouts int, p float64, source rand.Source) int {
	s := 0
	for range rollouts {
		if float64(source.Uint64()>>11)*0x1p-53 < p {
			s++
		}
	}
	return s
}
