package policy

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"speceval/internal/seed"
	"speceval/internal/trial"
	"speceval/method/informed"
	"speceval/method/neyman"
	"speceval/method/staged"
)

// InStages is a policy that asks a pilot of m rollouts of every task and spends the
// rest of the budget in further stages. The size and the weight of each are decided
// by all before it and by the donors (method/staged, method/informed).
type InStages struct {
	After int // stages after the pilot; 1 is a continuation, as in the paper

	// LeaveOneOut gives the pilot of each task a weight of its own, by the pilots of
	// all others, in the place of the design's.
	LeaveOneOut bool
}

// mostAfter is the number of stages after the pilot of the policies that have more
// than one.
const mostAfter = 4

// ruleOrder is that of the quadrature behind leave-one-out weights: any function of the
// other tasks' pilots is unbiased, and more nodes give none that is better.
const ruleOrder = 8

// Plan is that of N tasks and a budget of b rollouts each, with the design's pilot
// size and weight.
func (s *InStages) Plan(tasks, budget, pilots int, weight float64) (staged.Plan, error) {
	p := staged.Plan{Pilots: pilots, Weight: weight, Fractions: trial.Fractions(s.After)}
	if !s.LeaveOneOut {
		return p, nil
	}
	prior, err := neyman.NewPrior(ruleOrder)
	if err != nil {
		return p, err
	}
	rule, err := neyman.NewLeaveOneOut(prior, tasks, budget, pilots)
	if err != nil {
		return p, fmt.Errorf("leave-one-out weights: %w", err)
	}
	p.LeaveOneOut = rule.Weight
	return p, nil
}

// Text is the fractions of its plans in files: of what is left, by stage after the
// pilot.
func (s *InStages) Text() string {
	var all []string
	for _, f := range trial.Fractions(s.After) {
		all = append(all, strconv.FormatFloat(f, 'g', -1, 64))
	}
	return strings.Join(all, " ")
}

// panelsPerDraw is how many draws of a replay one panel of a design counts for: a
// panel is an evaluation in stages for every candidate.
const panelsPerDraw = 64

// stagedCoefficients estimates the coefficients C of a policy without donors on one
// replicate of panels of the reference prior.
func stagedCoefficients(ctx context.Context, p Panels, random seed.Stream) ([][]float64, error) {
	prior, err := informed.New(p.Tasks, nil)
	if err != nil {
		return nil, err
	}
	coefficients, err := trial.Coefficients(ctx, prior, p.Candidates, mostAfter, max(1, p.Draws/panelsPerDraw), random)
	return [][]float64{coefficients}, err
}
