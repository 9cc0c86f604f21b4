package estimate_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"speceval/method/design"
	"speceval/method/estimate"
	"speceval/method/neyman"
)

// The budget that is found has the error, and one rollout less has not; both by the
// prior and given earlier rollouts.
func TestTheLeastBudgetIsFound(t *testing.T) {
	prior := reference(t)
	const n = 12
	observed, passed := make([]int, n), make([]int, n)
	for i := range observed {
		observed[i], passed[i] = 20, []int{0, 20, 20, 11}[i%4]
	}
	earlier, err := prior.Update(observed, passed)
	if err != nil {
		t.Fatal(err)
	}
	known := 0.0
	for i := range n {
		_, v := earlier.Moments(i)
		known += v / n
	}
	for name, tt := range map[string]struct {
		planner estimate.Planner
		mean    float64 // expected variance of a rollout
	}{
		"the prior":        {estimate.Planner{Tasks: n, Seed: 3}, neyman.MeanVariance},
		"earlier rollouts": {estimate.Planner{Tasks: n, Seed: 3, Prior: prior, Earlier: earlier}, known},
	} {
		const target = 0.02
		e, err := tt.planner.Least(t.Context(), target)
		if err != nil {
			t.Fatal(err)
		}
		if at, err := tt.planner.Expect(t.Context(), e.Budget); err != nil || at != e {
			t.Errorf("%s: the search has %+v, its budget %+v, %v", name, e, at, err)
		}
		less, err := tt.planner.Expect(t.Context(), e.Budget-1)
		if err != nil || e.StandardError > target || less.StandardError <= target {
			t.Errorf("%s: errors %v of budget %d and %v of one less, %v", name, e.StandardError, e.Budget, less.StandardError, err)
		}
		if uniform := tt.mean / (n * e.StandardError * e.StandardError); e.UniformBudget != int(math.Ceil(uniform)) || e.UniformBudget <= e.Budget {
			t.Errorf("%s: Uniform's budget is %d, want %v rounded up, beyond %d", name, e.UniformBudget, uniform, e.Budget)
		}
	}
}

func TestErrorsThatNoBudgetHas(t *testing.T) {
	p := estimate.Planner{Tasks: 5, Seed: 1}
	if e, err := p.Least(t.Context(), 1e-5); !errors.Is(err, estimate.ErrTooPrecise) {
		t.Errorf("%+v, %v, want too precise", e, err)
	}
	for _, target := range []float64{0, -1, math.NaN()} {
		if e, err := p.Least(t.Context(), target); err == nil || errors.Is(err, estimate.ErrTooPrecise) {
			t.Errorf("target %v: %+v, %v, want an error of the target", target, e, err)
		}
	}
	if e, err := p.Expect(t.Context(), design.MostBudget+1); err == nil {
		t.Errorf("%+v, want an error of the budget", e)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if e, err := p.Least(over, 0.05); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v, want canceled", e, err)
	}
}

// Two evaluations at the budgets that Budgets returns have the difference's error
// that Resolving asks for, as far as errors fall with the root of the budget.
func TestBudgetsFindTheDifference(t *testing.T) {
	d := estimate.Difference{StandardError: 0.05}
	given := [2]int{100, 400}
	more := d.Budgets(given, 0.07)
	for i := range more {
		if se := 0.05 * math.Sqrt(float64(given[i])/float64(more[i])); se > estimate.Resolving(0.07) || se < 0.99*estimate.Resolving(0.07) {
			t.Errorf("budget %d in the place of %d: error %v, want %v", more[i], given[i], se, estimate.Resolving(0.07))
		}
	}
	if few := d.Budgets(given, 5); few != [2]int{2, 2} {
		t.Errorf("budgets %v, want the least", few)
	}
	if each := estimate.ResolvingEach(0.07); math.Abs(math.Hypot(each, each)-estimate.Resolving(0.07)) > 1e-15 || math.Abs(estimate.ResolvedByEach(each)-0.07) > 1e-15 {
		t.Errorf("an error of %v each does not resolve 0.07", each)
	}
}
