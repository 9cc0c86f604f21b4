// Package design computes the ex-ante design of HBN: how many pilot rollouts m
// every task gets, and with which weight w the pilot enters the estimate, for a
// benchmark of N tasks and an average budget of b rollouts a task. It is for
// programs that evaluate stochastic models, before their first rollout: nothing
// but N and b and the reference prior enters (paper, Eqs. 9 to 12 and the
// appendix on the HBN design).
//
//	d, err := design.Compute(ctx, design.Settings{Tasks: 100, Budget: 32})
//	// d.Pilots of every task first, then d.Tasks*(d.Budget-d.Pilots) continuations
//	// as method/neyman allocates them; the estimate is w·pilot + (1−w)·continuation.
//
// The expectation of the continuation's variance is taken by Monte Carlo, over
// panels of N tasks drawn from the prior. All pilot sizes share the panels, so
// that their differences are far more certain than their risks. The panels are
// spread evenly over the prior, and what is estimated of each is its difference
// from a uniform continuation, which is known; so fewer of them do than the
// paper's 8 × 8192 independent ones, and a design takes a second or so. Their
// number falls as N grows: Settings.Panels says how to have another, and
// Design.RiskSE what it came to.
//
// Budgets up to 64 have every pilot size compared. Beyond that the sizes go up to
// 4·b^⅔, and from 64 on in steps of a thirty-second: the best are near b^⅔, where
// the risk is flat.
package design

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"speceval/internal/policy/pilot"
	"speceval/internal/policy/seed"
	"speceval/method/informed"
	"speceval/method/neyman"
	"speceval/method/staged"
)

// Design is a two-stage design of HBN for N tasks and an average of b rollouts.
type Design struct {
	Tasks  int     // N
	Budget int     // b, average rollouts per task, pilots included
	Pilots int     // m, of every task
	Weight float64 // w of the pilot's mean; the continuation's has 1 − w

	Risk   float64 // expected variance of the estimate relative to Uniform's at b
	RiskSE float64 // Monte Carlo standard error of Risk; NaN of a single replicate
}

// Settings are the evaluation that a design is for, and the precision that it is computed
// with. Zeros stand for the paper's precision, RiskSE about 0.001.
type Settings struct {
	Tasks  int // N, from 2 to MostTasks
	Budget int // b, from 2 to MostBudget

	Panels     int    // of a replicate; 0: 2^16/N within 256 and 4096, fewer for large budgets
	Replicates int    // independent of one another; 0: 8
	Seed       uint64 // of the panels
}

// The largest benchmark and budget: counts of tasks have 16 bits.
const (
	MostTasks  = 1<<16 - 1
	MostBudget = 4096
)

// check says what is wrong with the settings, if anything.
func (s Settings) check() error {
	switch {
	case s.Tasks < 2 || s.Tasks > MostTasks:
		return fmt.Errorf("design: %d tasks: want 2 to %d; split a larger benchmark", s.Tasks, MostTasks)
	case s.Budget < 2 || s.Budget > MostBudget:
		return fmt.Errorf("design: a budget of %d rollouts a task: want 2 to %d, at least one for the pilot and one for the continuation", s.Budget, MostBudget)
	case min(s.Panels, s.Replicates) < 0:
		return fmt.Errorf("design: %d panels and %d replicates: want none below 0", s.Panels, s.Replicates)
	}
	return nil
}

// Compute returns the design of least risk. It is an error if a setting is out of
// its range, or if the context ends before.
func Compute(ctx context.Context, s Settings) (Design, error) {
	curve, err := Curve(ctx, s)
	if err != nil {
		return Design{}, err
	}
	return slices.MinFunc(curve, func(a, b Design) int { return cmp.Compare(a.Risk, b.Risk) }), nil // of equals the first
}

// Curve returns the design of every pilot size that is considered, ascending,
// each with the weight that is best for it (paper, Eq. 12).
func Curve(ctx context.Context, s Settings) ([]Design, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	cs := grid(s.Budget)
	s = s.precise(cs)
	coefficients, err := estimate(ctx, s, cs)
	if err != nil {
		return nil, fmt.Errorf("design for %d tasks and %d rollouts a task: %w", s.Tasks, s.Budget, err)
	}
	curve := make([]Design, len(cs))
	for k, r := range pilot.Rate(cs, coefficients) {
		curve[k] = Design{Tasks: s.Tasks, Budget: s.Budget, Pilots: r.M, Weight: r.Weight, Risk: r.Risk, RiskSE: r.RiskSE}
	}
	return curve, nil
}

// pieces is the number of parts that a replicate's panels are drawn in, each
// from a stream of its own, so that one replicate can keep several workers busy.
const pieces = 8

// estimate returns the continuation coefficients C = B/(N·v̄) of every candidate
// in every replicate: [candidate][replicate].
func estimate(ctx context.Context, s Settings, cs pilot.Candidates) ([][]float64, error) {
	prior, err := neyman.NewPrior(paperOrder)
	if err != nil {
		return nil, err
	}
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	memory := sync.Pool{New: func() any { return pilot.NewPanels(prior, cs, s.Tasks) }}
	parts := min(pieces, s.Panels)
	sums := make([][]float64, s.Replicates*parts) // by replicate, and piece of it
	for at := range sums {
		group.Go(func() error {
			panels := memory.Get().(*pilot.Panels)
			defer memory.Put(panels)
			sums[at] = make([]float64, len(cs))
			piece := at % parts
			first, end := piece*s.Panels/parts, (piece+1)*s.Panels/parts
			replicate := seed.Root(s.Seed).Child("design").Index(s.Tasks).Index(s.Budget).Index(at / parts)
			start, random := replicate.Child("lattice").Stream(), replicate.Index(piece).Stream()
			return panels.Add(ctx, end-first, sums[at], pilot.NewLattice(&start).From(first), &random)
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	coefficients := make([][]float64, len(cs))
	for k := range coefficients {
		coefficients[k] = make([]float64, s.Replicates)
	}
	scale := 1 / (float64(s.Panels) * float64(s.Tasks) * neyman.MeanVariance)
	for at, piece := range sums {
		for k, sum := range piece {
			coefficients[k][at/parts] += scale * sum
		}
	}
	return coefficients, nil
}

// InStages is a design with more than two stages, or with a prior that knows something of
// the tasks.
type InStages struct {
	Tasks  int // N
	Budget int // b, average rollouts per task, pilots included

	Plan   staged.Plan // without leave-one-out weights
	Risk   float64     // expected variance of the estimate relative to Uniform's at b
	RiskSE float64     // Monte Carlo standard error of Risk; NaN of a single replicate
}

// StagesSettings are the evaluation that such a design is for, and the precision that it is
// computed with.
type StagesSettings struct {
	Prior  informed.Suite // of the tasks, by benchmark; without donors reference priors
	Budget int            // b, from 2 to MostBudget
	Stages int            // the pilot among them, from 2 to MostStages

	// Of several benchmarks, as in staged.Plan.
	TaskShares []float64
	Cells      []staged.Cell

	Panels     int    // of a replicate; 0: 128
	Replicates int    // independent of one another; 0: 8
	Seed       uint64 // of the panels
}

// MostStages is the largest number of stages.
const MostStages = 64

const panelsInStages = 128

// check says what is wrong with the settings, if anything.
func (s StagesSettings) check() error {
	switch {
	case len(s.Prior) == 0:
		return fmt.Errorf("design: stages need a prior of the tasks")
	case s.Stages < 2 || s.Stages > MostStages:
		return fmt.Errorf("design: %d stages: want 2 to %d, the pilot among them", s.Stages, MostStages)
	}
	return Settings{Tasks: max(2, s.Prior.Tasks()), Budget: s.Budget, Panels: s.Panels, Replicates: s.Replicates}.check()
}

// ComputeInStages returns the design of least risk. Each stage after the pilot is half
// as large again as the one before; the pilot size is compared on panels of tasks drawn
// from the prior, on which evaluations are simulated, and its weight is the best for it
// (paper, Eqs. 11 and 12, with all that comes after the pilot in the place of the
// continuation). It is an error if a setting is out of its range, or if the context
// ends before.
func ComputeInStages(ctx context.Context, s StagesSettings) (InStages, error) {
	if err := s.check(); err != nil {
		return InStages{}, err
	}
	if s.Panels == 0 {
		s.Panels = panelsInStages
	}
	if s.Replicates == 0 {
		s.Replicates = paperReplicates
	}
	cs := pilot.StagedCandidates([]int{s.Budget})
	var replicates []seed.Stream
	for k := range s.Replicates {
		replicates = append(replicates, seed.Root(s.Seed).Child("design in stages").Index(k).Stream())
	}
	like := staged.Plan{TaskShares: s.TaskShares, Cells: s.Cells}
	coefficients, err := pilot.StagedCoefficients(ctx, s.Prior, like, cs, []int{s.Stages - 1}, s.Panels, replicates)
	if err != nil {
		return InStages{}, fmt.Errorf("design in %d stages: %w", s.Stages, err)
	}
	d := InStages{Tasks: s.Prior.Tasks(), Budget: s.Budget}
	for _, r := range pilot.Rate(cs, coefficients[0]) {
		if r.Selected {
			d.Plan = like
			d.Plan.Pilots, d.Plan.Weight, d.Plan.Fractions = r.M, r.Weight, pilot.Fractions(s.Stages-1)
			d.Risk, d.RiskSE = r.Risk, r.RiskSE
		}
	}
	return d, nil
}

// everyPilot is the largest budget at which every pilot size is considered.
const everyPilot = 64

// grid are the pilot sizes considered at a budget, ascending: all of them up to
// everyPilot. Beyond it the sizes go up to 4·b^⅔, from 64 on each greater than
// the one before by a thirty-second of it, rounded down: the best are near b^⅔,
// and the risk is flat there.
func grid(budget int) pilot.Candidates {
	if budget <= everyPilot {
		return pilot.AllCandidates([]int{budget})
	}
	var cs pilot.Candidates
	longest := int(4 * math.Cbrt(float64(budget)*float64(budget)))
	for m := 1; m <= min(longest, budget-1); m += max(1, m/32) {
		cs = append(cs, pilot.Candidate{Budget: budget, M: m})
	}
	return cs
}

// The paper's replicates and quadrature, and bounds of the panels that are as
// precise as its own.
const (
	paperReplicates = 8
	paperOrder      = 16
	manyPanels      = 4096
	fewPanels       = 256
	fewestPanels    = 16
)

// precise puts the paper's precision where none is given. With even panels the error falls
// as N grows, and with the paper's 8192 independent ones it does not: 2^16/N panels a
// replicate, between 256 and 4096, leave RiskSE at 0.0005 to 0.0011, where the paper's have
// 0.0012 to 0.0025. Two more bounds keep a design to some seconds: where there are more than
// 32 pilot sizes, the panels are fewer in proportion, not below 256 (RiskSE up to 0.0016);
// and where a replicate would draw more than 2^28 rollouts, as few as 16.
func (s Settings) precise(cs pilot.Candidates) Settings {
	if s.Panels == 0 {
		panels := min(manyPanels, 1<<16/s.Tasks)
		panels = max(fewPanels, panels*32/max(32, len(cs)))
		s.Panels = max(fewestPanels, min(panels, 1<<28/(s.Tasks*cs.LongestPilot())))
	}
	if s.Replicates == 0 {
		s.Replicates = paperReplicates
	}
	return s
}
