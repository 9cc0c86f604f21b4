package estimate_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"speceval/method/design"
	"speceval/method/estimate"
	"speceval/method/informed"
	"speceval/method/neyman"
)

// The budget that is found has the error, and one rollout less has not; both by the
// prior and by donors.
func TestTheLeastBudgetIsFound(t *testing.T) {
	const n, target = 12, 0.005
	donor := informed.Donor{Rollouts: make([]int, n), Passes: make([]int, n)}
	for i := range n {
		donor.Rollouts[i], donor.Passes[i] = 20, []int{0, 20, 20, 11}[i%4]
	}
	var budgets []int
	for _, donors := range [][]informed.Donor{nil, {donor}} {
		prior := priorOf(n, donors...)
		p := estimate.Planner{Prior: prior, Seed: 3}
		e := must(p.Least(t.Context(), target))
		if at, err := p.Expect(t.Context(), e.Budget); err != nil || at != e {
			t.Errorf("the search has %+v, its budget %+v, %v", e, at, err)
		}
		less, err := p.Expect(t.Context(), e.Budget-1)
		if err != nil || e.StandardError > target || less.StandardError <= target {
			t.Errorf("errors %v of budget %d and %v of one less, %v", e.StandardError, e.Budget, less.StandardError, err)
		}
		mean, within := neyman.MeanVariance, 1e-9 // expected variance of a rollout
		if donors != nil {
			mean, within = drawnVariance(prior), 0.01
		}
		if uniform := mean / (n * e.StandardError * e.StandardError); e.UniformBudget <= e.Budget || math.Abs(float64(e.UniformBudget)-uniform-0.5) > 0.5+within*uniform {
			t.Errorf("Uniform's budget is %d, want more than %d, %v rounded up", e.UniformBudget, e.Budget, uniform)
		}
		budgets = append(budgets, e.Budget)
	}
	if budgets[1] >= budgets[0] {
		t.Errorf("with donors of certain tasks it takes %d rollouts, without %d", budgets[1], budgets[0])
	}
}

// priorOf is the prior of some tasks by donors.
func priorOf(tasks int, donors ...informed.Donor) *informed.Prior {
	return must(informed.New(tasks, donors))
}

// drawnVariance is the mean of p(1−p) over tasks drawn from a prior.
func drawnVariance(prior *informed.Prior) (mean float64) {
	const draws = 40_000
	ps, source := make([]float64, prior.Tasks()), rand.NewPCG(4, 2)
	for range draws {
		prior.Draw(float64(source.Uint64()>>11)*0x1p-53, source, ps)
		for _, p := range ps {
			mean += p * (1 - p) / float64(draws*len(ps))
		}
	}
	return mean
}

func TestErrorsThatNoBudgetHas(t *testing.T) {
	p := estimate.Planner{Prior: priorOf(5), Seed: 1}
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
	d := estimate.Bounded{StandardError: 0.05}
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
	if found := estimate.Resolved(estimate.Resolving(0.07)); math.Abs(found-0.07) > 1e-15 {
		t.Errorf("the error that resolves 0.07 resolves %v", found)
	}
}

// hard is profiles that hurt an error by the posterior alone, each with the two-stage
// plan that it is evaluated by.
var hard = map[string]struct {
	ps   []float64
	plan plan
}{
	"nearly certain, either way": {slices.Concat(slices.Repeat([]float64{0.05}, 50), slices.Repeat([]float64{0.95}, 50)), plan{Budget: 8, Pilots: 3, Weight: 0.31}},
	"two tasks":                  {[]float64{0.3, 0.9}, plan{Budget: 8, Pilots: 4, Weight: 0.44}},
	"five coins":                 {slices.Repeat([]float64{0.5}, 5), plan{Budget: 8, Pilots: 4, Weight: 0.42}},
}

// Intervals cover the mean of hard profiles as often as they say, but for one part in a
// hundred, and what Uniform would have needed as often.
func TestHardProfilesAreCovered(t *testing.T) {
	const evaluations = 3000
	for name, tt := range hard {
		random := rand.New(rand.NewPCG(11, 12))
		truth, spread := 0.0, 0.0
		for _, p := range tt.ps {
			truth += p / float64(len(tt.ps))
			spread += p * (1 - p)
		}
		covered, equivalent := 0.0, 0.0
		for range evaluations {
			tasks := evaluate(tt.ps, tt.plan, random)
			m := must(estimate.Of(prior, tasks))
			shrunk, w := 0.0, tt.plan.Weight
			for i, p := range tt.ps {
				shrunk += p * (1 - p) * (w*w/float64(tt.plan.Pilots) + (1-w)*(1-w)/float64(tasks[i].Stages[1].Rollouts))
			}
			if m.Low <= truth && truth <= m.High {
				covered += 1.0 / evaluations
			}
			if u := m.Uniform; u.Low <= spread/shrunk && spread/shrunk <= u.High {
				equivalent += 1.0 / evaluations
			}
		}
		se := math.Sqrt(0.94 * 0.06 / evaluations)
		if covered < 0.94-2*se || equivalent < 0.93-2*se {
			t.Errorf("%s: the mean is covered %.1f%% of the time, Uniform's equivalent %.1f%%", name, 100*covered, 100*equivalent)
		}
		t.Logf("%s: %.1f%% and %.1f%%", name, 100*covered, 100*equivalent)
	}
}
