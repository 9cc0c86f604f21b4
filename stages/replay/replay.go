package replay

import (
	"context"
	"fmt"
	"math"

	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/internal/sweep"
	"speceval/internal/variance"
	"speceval/method/neyman"
)

// replayed is a two-stage policy with the design chosen for it.
type replayed struct {
	design variance.Design
	sum    float64 // Σ C over the draws
	shift  float64 // C of the first draw, against cancellation
	drift  float64 // Σ (C − first)
	square float64 // Σ (C − first)²

	values []float64 // C of the draws of a sweep
	paired paired    // with HBN's at the same budget
}

// setting is what the continuation of a design is of.
func setting(d variance.Design) policy.Setting {
	s := policy.Setting{Tasks: int(d.NTasks), Budget: int(d.Budget), M: int(d.M)}
	if d.Alpha != nil {
		s.Alpha = *d.Alpha
	}
	return s
}

// continuation is that of a design; it holds until the next call with this bench.
func continuation(policies policy.List, d variance.Design, bench *policy.Bench) (policy.Continuation, error) {
	p := policies.Find(d.Key())
	if p == nil || p.TwoStage == nil {
		return nil, fmt.Errorf("design of policy %q: this replay does not know it", d.Key())
	}
	return p.TwoStage.Continuation(bench, setting(d)), nil
}

// add takes the continuation coefficient C = Σ(v/L)/Σv of one more draw.
func (r *replayed) add(coefficient float64) {
	if r.sum == 0 {
		r.shift = coefficient
	}
	d := coefficient - r.shift
	r.sum += coefficient
	r.drift += d
	r.square += d * d
}

// ratio turns the draws into the variance ratio b·{w²/m + (1−w)²·C} with its
// Monte Carlo standard error (paper, Eq. 9 over Uniform's variance).
func (r *replayed) ratio(p profile.Profile, draws int) variance.Ratio {
	d, n := r.design, float64(draws)
	spread := math.NaN()
	if draws > 1 {
		spread = math.Sqrt(max(0, r.square-r.drift*r.drift/n) / (n - 1))
	}
	return variance.Ratio{
		Benchmark: p.Benchmark, Model: p.Model, NTasks: d.NTasks, Budget: d.Budget,
		Policy: d.Policy, Donors: d.Donors, Alpha: d.Alpha, M: &d.M, W: &d.W,
		VarianceRatio: neyman.Risk(int(d.Budget), int(d.M), d.W, r.sum/n),
		RatioSE:       r.slope() * spread / math.Sqrt(n),
		Draws:         int32(draws),
	}
}

// slope is that of the ratio in C.
func (r *replayed) slope() float64 {
	d := r.design
	return float64(d.Budget) * (1 - d.W) * (1 - d.W)
}

// replay evaluates the selected designs on a fixed profile: draws pilot vectors,
// shared by all policies and budgets as prefixes of one path, with the
// continuation's variance computed exactly (paper, appendix on the variance
// evaluation protocol). The rows of allocations known
// beforehand come first. The differences are those
// of every ratio to HBN's at its budget, in the same order.
func replay(ctx context.Context, policies policy.List, p profile.Profile, designs []variance.Design, prior *neyman.Prior, draws int, random seed.Stream) ([]variance.Ratio, []variance.Difference, error) {
	ratios, err := analytic(policies, p, designs)
	if err != nil {
		return nil, nil, err
	}
	longest := 0
	runs := make([]*replayed, len(designs))
	for i, d := range designs {
		runs[i] = &replayed{design: d}
		longest = max(longest, int(d.Budget)-1)
	}
	bench := policy.Bench{Prior: prior}
	err = sweep.Each(ctx, probabilities(p), draws, longest, sweep.OneStream(random), func(sw *sweep.Sweep, _ int) error {
		for _, run := range runs {
			run.values = run.values[:0]
		}
		err := eachValue(sw, designs, func(k int) (policy.Continuation, error) { return continuation(policies, designs[k], &bench) }, func(k, _ int, c float64) {
			runs[k].values = append(runs[k].values, c)
			runs[k].add(c)
		})
		pairUp(runs)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	for _, run := range runs {
		ratios = append(ratios, run.ratio(p, draws))
	}
	return ratios, differences(ratios, runs), nil
}

// eachValue takes a sweep to its end and visits the continuation coefficient of
// every draw under every design, by the design's index. At a design's pilot size
// it asks for the continuation, which it uses at once for all draws.
func eachValue(sw *sweep.Sweep, designs []variance.Design, of func(k int) (policy.Continuation, error), visit func(k, draw int, coefficient float64)) error {
	for sw.M() < sw.Rollouts() {
		sw.Advance()
		for k, d := range designs {
			if int(d.M) != sw.M() {
				continue
			}
			c, err := of(k)
			if err != nil {
				return err
			}
			for draw := range sw.Draws() {
				visit(k, draw, c.Value(sw, draw, int(d.Budget))/sw.Total())
			}
		}
	}
	return nil
}

// total is the sum of xs, in order.
func total(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum
}
