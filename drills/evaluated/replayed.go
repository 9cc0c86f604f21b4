package evaluated

import (
	"context"
	"fmt"
	"math"

	"speceval/internal/pilot"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/method/design"
	"speceval/method/informed"
	"speceval/method/staged"
)

// Prediction is the variance of a policy's estimates relative to Uniform's.
type Prediction struct {
	Pilots int     // rollouts of every task in the first stage
	Weight float64 // of the pilot's mean
	Ratio  float64 // mean over replays
	SE     float64 // its Monte Carlo standard error; 0 of Uniform, which is 1 by definition
	Spent  float64 // rollouts per task, mean over replays: the budget unless what is found decides
}

// Replay replays policies on a profile whose pass rates are taken for the truth.
type Replay struct {
	Profile profile.Profile
	Donors  []profile.Profile // of the same benchmark, other models: what informed policies know
	Draws   int               // evaluations of each policy
	Seed    uint64

	Precision design.StagesSettings // of the designs: panels and replicates; zeros are the defaults
}

// Predict designs a policy for a budget of rollouts per task and replays it. Policies
// that go on after a pilot have names of internal/policy or are HBN's strategies; the
// informed ones know all donors. The conditional variances of Draws evaluations are
// averaged (paper, Section 4.1, of which informed and staged policies are the general
// case). It is an error if the policy is unknown, or if it needs donors and there are
// none.
func (r Replay) Predict(ctx context.Context, name string, budget int) (Prediction, error) {
	if name == Uniform {
		return Prediction{Pilots: budget, Weight: 1, Ratio: 1, Spent: float64(budget)}, nil
	}
	after, knowing, ok := form(name)
	switch {
	case !ok:
		return Prediction{}, fmt.Errorf("policy %s cannot be replayed: want %s, %s, %s, %s or %s", name, Uniform, policy.HBN.Name, policy.Staged.Name, policy.Informed[0].Name, policy.InformedStaged[0].Name)
	case knowing && len(r.Donors) == 0:
		return Prediction{}, fmt.Errorf("policy %s needs a donor of %s", name, r.Profile.Name())
	}
	var donors []informed.Donor
	var err error
	if knowing {
		if donors, err = policy.Siblings.Count(r.Profile, r.Donors, nil); err != nil {
			return Prediction{}, err
		}
	}
	prior, err := informed.New(r.Profile.N(), donors)
	if err != nil {
		return Prediction{}, err
	}
	plan, err := r.plan(ctx, prior, budget, after, knowing)
	if err != nil {
		return Prediction{}, fmt.Errorf("policy %s at budget %d: %w", name, budget, err)
	}
	p := Prediction{Pilots: plan.Pilots, Weight: plan.Weight, Spent: float64(budget)}
	p.Ratio, p.SE, err = r.ratio(ctx, prior, plan, budget)
	return p, err
}

// form is the number of stages after the pilot of a policy, and whether it knows
// donors.
func form(name string) (after int, knowing, ok bool) {
	switch name {
	case policy.HBN.Name, Async, Sync:
		return 1, false, true
	}
	for _, p := range policy.All {
		if p.InStages != nil && !p.InStages.LeaveOneOut && p.Name == name {
			return p.InStages.After, p.Donors != policy.None, true
		}
	}
	return 0, false, false
}

// plan is the design of a policy. That of HBN in two stages is computed as for the
// paper's tables.
func (r Replay) plan(ctx context.Context, prior *informed.Prior, budget, after int, knowing bool) (staged.Plan, error) {
	s := r.Precision
	if after == 1 && !knowing {
		d, err := design.Compute(ctx, design.Settings{Tasks: prior.Tasks(), Budget: budget, Panels: s.Panels, Replicates: s.Replicates, Seed: r.Seed})
		return staged.Plan{Pilots: d.Pilots, Weight: d.Weight, Fractions: pilot.Fractions(1)}, err
	}
	s.Prior, s.Budget, s.Stages, s.Seed = prior, budget, 1+after, r.Seed
	d, err := design.ComputeInStages(ctx, s)
	return d.Plan, err
}

// ratio is the mean of b·Σ p(1−p)·Σ c²/n / Σ p(1−p) over evaluations, with its
// standard error. All plans of a seed meet the same draws.
func (r Replay) ratio(ctx context.Context, prior *informed.Prior, plan staged.Plan, budget int) (mean, se float64, err error) {
	stages, err := staged.New(prior.Tasks(), budget, plan)
	if err != nil {
		return 0, 0, err
	}
	run := pilot.NewTrial(stages, prior.Posterior())
	ps := make([]float64, prior.Tasks())
	for i := range ps {
		ps[i] = r.Profile.P(i)
	}
	draws := seed.Root(r.Seed).Child("predict").Child(r.Profile.Name()).Stream()
	sum, squares := 0.0, 0.0
	for draw := range r.Draws {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		random := draws.At(uint64(draw))
		variance, err := run.Run(ps, nil, &random)
		if err != nil {
			return 0, 0, err
		}
		ratio := float64(budget) * variance / r.Profile.VarianceSum()
		sum, squares = sum+ratio, squares+ratio*ratio
	}
	n := float64(r.Draws)
	mean = sum / n
	return mean, math.Sqrt(max(0, squares/n-mean*mean) / (n - 1)), nil
}

// String is the ratio with its error.
func (p Prediction) String() string {
	if p.SE == 0 {
		return fmt.Sprintf("%.0f", p.Ratio)
	}
	return fmt.Sprintf("%.3f ± %.4f", p.Ratio, p.SE)
}
