package design

import (
	"context"
	"fmt"
	"math"

	"speceval/internal/exante"
	"speceval/method/neyman"
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

// StandardError is the standard error that the prior expects of the estimate of
// a benchmark's mean: √(Risk·v̄/(N·b)), where v̄ is the mean of p(1−p) over the
// tasks. Under the reference prior that is neyman.MeanVariance.
func (d Design) StandardError(meanVariance float64) float64 {
	return math.Sqrt(d.Risk * meanVariance / (float64(d.Tasks) * float64(d.Budget)))
}

// Settings are what a design is for, and the precision that it is computed with.
// Zeros stand for the paper's precision, RiskSE about 0.001.
type Settings struct {
	Tasks  int // N, from 2 to MostTasks
	Budget int // b, from 2 to MostBudget

	Panels          int    // of a replicate, up to 2^24; 0: 2^16/N within 256 and 4096, fewer for large budgets
	Replicates      int    // independent of one another, up to 1024; 0: 8
	QuadratureOrder int    // Gauss–Legendre nodes in each of ξ and δ, up to 64; 0: 16
	Seed            uint64 // of the panels
	Workers         int    // goroutines, which change no result; 0: as many as processors
}

// The largest benchmark and budget: counts of tasks have 16 bits.
const (
	MostTasks  = 1<<16 - 1
	MostBudget = 4096
)

// The largest precision.
const (
	mostPanels     = 1 << 24
	mostReplicates = 1 << 10
	mostOrder      = 64
)

// check says what is wrong with the settings, if anything.
func (s Settings) check() error {
	switch {
	case s.Tasks < 2 || s.Tasks > MostTasks:
		return fmt.Errorf("design: %d tasks: want 2 to %d; split a larger benchmark", s.Tasks, MostTasks)
	case s.Budget < 2 || s.Budget > MostBudget:
		return fmt.Errorf("design: a budget of %d rollouts a task: want 2 to %d, at least one for the pilot and one for the continuation", s.Budget, MostBudget)
	case s.Panels < 0 || s.Panels > mostPanels:
		return fmt.Errorf("design: %d panels: want 1 to %d, or 0 for the paper's precision", s.Panels, mostPanels)
	case s.Replicates < 0 || s.Replicates > mostReplicates:
		return fmt.Errorf("design: %d replicates: want 1 to %d, or 0 for the paper's number", s.Replicates, mostReplicates)
	case s.QuadratureOrder < 0 || s.QuadratureOrder > mostOrder:
		return fmt.Errorf("design: a quadrature of order %d: want 1 to %d, or 0 for the paper's order", s.QuadratureOrder, mostOrder)
	case s.Workers < 0:
		return fmt.Errorf("design: %d workers: want at least 1, or 0 for as many as there are processors", s.Workers)
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
	return least(curve), nil
}

// Curve returns the design of every pilot size that is considered, ascending,
// each with the weight that is best for it (paper, Eq. 12).
func Curve(ctx context.Context, s Settings) ([]Design, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	cs := grid(s.Budget)
	s = s.precise(cs)
	prior, err := neyman.NewPrior(s.QuadratureOrder)
	if err != nil {
		return nil, fmt.Errorf("design: %w", err)
	}
	coefficients, err := estimate(ctx, s, prior, cs)
	if err != nil {
		return nil, fmt.Errorf("design for %d tasks and %d rollouts a task: %w", s.Tasks, s.Budget, err)
	}
	curve := make([]Design, len(cs))
	for k, r := range exante.Rate(cs, coefficients) {
		curve[k] = Design{Tasks: s.Tasks, Budget: s.Budget, Pilots: r.M, Weight: r.Weight, Risk: r.Risk, RiskSE: r.RiskSE}
	}
	return curve, nil
}

// least returns the design of least risk, of equals the first.
func least(curve []Design) Design {
	best := curve[0]
	for _, d := range curve[1:] {
		if d.Risk < best.Risk {
			best = d
		}
	}
	return best
}
