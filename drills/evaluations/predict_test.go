//go:build drill

package evaluations_test

import (
	"context"
	"fmt"
	"math"
	"path/filepath"

	"speceval/internal/evaluation"
	"speceval/internal/pilot"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/rowfile"
	"speceval/internal/seed"
	"speceval/internal/variance"
	"speceval/method/design"
	"speceval/method/estimate"
	"speceval/method/neyman"
)

// prediction is the variance of a policy's estimates relative to Uniform's.
type prediction struct {
	Ratio float64 // mean over draws
	SE    float64 // its Monte Carlo standard error; 0 of Uniform, which is 1 by definition
	Spent float64 // rollouts per task, mean over draws: the budget unless the evaluation stops by what it finds
}

// String is the ratio with its error.
func (p prediction) String() string {
	if p.SE == 0 {
		return fmt.Sprintf("%.0f", p.Ratio)
	}
	return fmt.Sprintf("%.3f ± %.4f", p.Ratio, p.SE)
}

// forecast draws evaluations of a profile whose pass rates are taken for the truth, under
// the setup of an evaluation: its design, its donors, its rule to stop. If it extends
// another one, that is drawn as well.
type forecast struct {
	profile   profile.Profile
	setup     *evaluation.Setup
	extended  *evaluation.Setup // that of setup.Extends; nil if there is none
	reference *neyman.Prior
	draws     int
	seed      uint64
}

// predict is the mean over draws of Σ p(1−p)·Σ c²/n, the variance of an estimate given
// the rollouts that decided on it, relative to Uniform's with as many rollouts on average
// (paper, Section 4.1, of which informed and staged policies are the general case).
func (f forecast) predict(ctx context.Context) (prediction, error) {
	if f.setup.Policy == uniform {
		return prediction{Ratio: 1, Spent: float64(f.setup.Budget)}, nil
	}
	own, err := rulesOf(f.setup, f.reference)
	if err != nil {
		return prediction{}, err
	}
	var before *rules
	if f.setup.Extends != nil {
		if f.extended == nil {
			return prediction{}, fmt.Errorf("%s extends an evaluation without a setup", f.setup.Name())
		}
		if before, err = rulesOf(f.extended, f.reference); err != nil {
			return prediction{}, err
		}
	}
	streams := seed.Root(f.seed).Child("forecast").Child(f.profile.Name()).Stream()
	sum, squares, rollouts := 0.0, 0.0, 0
	for draw := range f.draws {
		if err := ctx.Err(); err != nil {
			return prediction{}, err
		}
		random := streams.At(uint64(draw))
		var past drawn
		if before != nil {
			if past, err = f.draw(before, nil, &random); err != nil {
				return prediction{}, err
			}
		}
		d, err := f.draw(own, past.stages, &random)
		if err != nil {
			return prediction{}, err
		}
		sum, squares, rollouts = sum+d.variance, squares+d.variance*d.variance, rollouts+d.rollouts
	}
	n := float64(f.draws)
	spent, mean := float64(rollouts)/n/float64(f.profile.N()), sum/n
	unit := f.profile.VarianceSum() / spent
	return prediction{Ratio: mean / unit, SE: math.Sqrt(max(0, squares/n-mean*mean)/(n-1)) / unit, Spent: spent}, nil
}

// drawn is an evaluation that was drawn.
type drawn struct {
	stages   [][]estimate.Stage // by task, without those of the evaluation that is extended
	rollouts int                // with those of the evaluation that is extended
	variance float64            // Σ p(1−p)·Σ c²/n
}

// draw draws an evaluation under some rules, after the stages of the evaluation that it
// extends; nil: none.
func (f forecast) draw(r *rules, past [][]estimate.Stage, random *seed.Stream) (drawn, error) {
	o := drawn{stages: make([][]estimate.Stage, f.profile.N())}
	for _, stages := range past {
		for _, s := range stages {
			o.rollouts += s.Rollouts
		}
	}
	d, err := r.begin(past)
	passes := make([]int, f.profile.N())
	for done := false; err == nil && !done; {
		weights := d.stages.Weights()
		for i, n := range d.stages.Sizes() {
			passes[i] = 0
			if n > 0 {
				passes[i] = pilot.Binomial(n, f.profile.P(i), random)
				o.rollouts += n
				o.stages[i] = append(o.stages[i], estimate.Binary(n, passes[i], weights[i]))
			}
		}
		done, err = d.next(passes)
	}
	if err != nil {
		return o, err
	}
	for i, shrinkage := range d.stages.Shrinkage() {
		p := f.profile.P(i)
		o.variance += p * (1 - p) * shrinkage
	}
	return o, nil
}

// designs predicts policies on a profile as `speceval evaluate` designs them.
type designs struct {
	profile   profile.Profile
	donors    []profile.Profile // of the same benchmark, other models: for informed policies
	reference *neyman.Prior
	draws     int // evaluations of each policy
	seed      uint64

	precision design.StagesSettings // panels and replicates; zeros are the defaults
}

// setup is an evaluation by a policy at a budget of rollouts per task, with its design.
// It is an error if the policy is unknown, or if it needs donors and there are none.
func (d designs) setup(ctx context.Context, name string, budget int) (*evaluation.Setup, error) {
	s := &evaluation.Setup{Policy: name, Budget: budget, TaskIDs: d.profile.TaskIDs}
	if name == uniform {
		s.Design = evaluation.Design{Pilots: budget, Weight: 1}
		return s, nil
	}
	after, informed := 0, false // stages after the pilot, and whether the policy has donors
	if name == policy.HBN.Name || name == async {
		after = 1
	}
	for _, p := range policy.All {
		if p.InStages != nil && !p.InStages.LeaveOneOut && p.Name == name {
			after, informed = p.InStages.After, p.Donors != policy.None
		}
	}
	switch {
	case after == 0:
		return nil, fmt.Errorf("policy %s cannot be predicted: want %s, %s, %s, %s or %s", name, uniform, policy.HBN.Name, policy.Staged.Name, policy.Informed[0].Name, policy.InformedStaged[0].Name)
	case informed && len(d.donors) == 0:
		return nil, fmt.Errorf("policy %s needs a donor of %s", name, d.profile.Name())
	case informed:
		donors, err := policy.Siblings.Count(d.profile, d.donors, nil)
		if err != nil {
			return nil, err
		}
		for _, donor := range donors {
			s.Donors = append(s.Donors, evaluation.Donor{Name: donor.Name, Source: donor.Name, Counts: evaluation.Counts{Passes: donor.Passes, Rollouts: donor.Rollouts}})
		}
	}
	var err error
	if s.Design, err = d.design(ctx, s, after); err != nil {
		return nil, fmt.Errorf("policy %s at budget %d: %w", name, budget, err)
	}
	return s, nil
}

// design is the design of a setup with so many stages after the pilot. That of HBN in two
// stages is computed as for the paper's tables.
func (d designs) design(ctx context.Context, s *evaluation.Setup, after int) (evaluation.Design, error) {
	p := d.precision
	if after == 1 && len(s.Donors) == 0 {
		two, err := design.Compute(ctx, design.Settings{Tasks: len(s.TaskIDs), Budget: s.Budget, Panels: p.Panels, Replicates: p.Replicates, Seed: d.seed})
		return evaluation.Design{Pilots: two.Pilots, Weight: two.Weight, Fractions: pilot.Fractions(1)}, err
	}
	var err error
	if p.Prior, err = s.Informed(); err != nil {
		return evaluation.Design{}, err
	}
	p.Budget, p.Stages, p.Seed = s.Budget, 1+after, d.seed
	more, err := design.ComputeInStages(ctx, p)
	return evaluation.Design{Pilots: more.Plan.Pilots, Weight: more.Plan.Weight, Fractions: more.Plan.Fractions}, err
}

// predict designs a policy for a budget and draws evaluations by it.
func (d designs) predict(ctx context.Context, name string, budget int) (prediction, error) {
	setup, err := d.setup(ctx, name, budget)
	if err != nil {
		return prediction{}, err
	}
	return forecast{profile: d.profile, setup: setup, reference: d.reference, draws: d.draws, seed: d.seed}.predict(ctx)
}

// replayed finds HBN's variance ratio to Uniform's, by the output of the replay stage, for
// a profile at a budget.
func replayed(out string, p profile.Profile, budget int) (prediction, error) {
	rows, _, err := rowfile.ReadFile[variance.Ratio](filepath.Join(out, filepath.FromSlash(variance.TwoStageFile)))
	if err != nil {
		return prediction{}, err
	}
	for _, r := range rows {
		if r.Policy == policy.HBN.Name && r.Benchmark == p.Benchmark && r.Model == p.Model && int(r.Budget) == budget {
			return prediction{Ratio: r.VarianceRatio, SE: r.RatioSE, Spent: float64(budget)}, nil
		}
	}
	return prediction{}, fmt.Errorf("the replay has no ratio of %s at %d rollouts per task", p.Name(), budget)
}
