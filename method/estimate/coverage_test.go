package estimate_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"speceval/method/estimate"
)

// hard is profiles that hurt an error by the posterior alone, each with the two-stage
// plan that it is evaluated by.
var hard = map[string]struct {
	ps   []float64
	plan estimate.Plan
}{
	"nearly certain, either way": {slices.Concat(slices.Repeat([]float64{0.05}, 50), slices.Repeat([]float64{0.95}, 50)), estimate.Plan{Budget: 8, Pilots: 3, Weight: 0.31}},
	"two tasks":                  {[]float64{0.3, 0.9}, estimate.Plan{Budget: 8, Pilots: 4, Weight: 0.44}},
	"five coins":                 {slices.Repeat([]float64{0.5}, 5), estimate.Plan{Budget: 8, Pilots: 4, Weight: 0.42}},
}

// Intervals cover the mean of hard profiles as often as they say, but for one part in a
// hundred, and what Uniform would have needed as often.
func TestHardProfilesAreCovered(t *testing.T) {
	prior := reference(t)
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
			tasks := evaluate(t, prior, tt.ps, tt.plan, random)
			m, err := estimate.Of(prior, tasks)
			if err != nil {
				t.Fatal(err)
			}
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

// Graded rewards have an error of their own size: that of means of them, not of passes.
func TestGradedRewardsHaveTheirError(t *testing.T) {
	prior := reference(t)
	random := rand.New(rand.NewPCG(13, 14))
	const evaluations, n, rollouts = 1000, 40, 6
	var stated, seen, covered float64
	for range evaluations {
		tasks := make([]estimate.Task, n)
		for i := range tasks { // uniform within 0.3 of the task's mean
			s := estimate.Stage{Rollouts: rollouts, Weight: 1}
			for range rollouts {
				r := 0.3 + 0.4*float64(i)/(n-1) + 0.6*(random.Float64()-0.5)
				s.Rewards, s.Squares = s.Rewards+r, s.Squares+r*r
			}
			tasks[i].Stages = []estimate.Stage{s}
		}
		m, err := estimate.Of(prior, tasks)
		if err != nil {
			t.Fatal(err)
		}
		stated += m.StandardError * m.StandardError / evaluations
		seen += (m.Value - 0.5) * (m.Value - 0.5) / evaluations
		if m.Low <= 0.5 && 0.5 <= m.High {
			covered += 1.0 / evaluations
		}
	}
	const want = 0.6 * 0.6 / 12 / n / rollouts
	if math.Abs(seen/want-1) > 4*math.Sqrt(2.0/evaluations) || stated < seen*0.9 || stated > seen*1.2 {
		t.Errorf("stated variance %v, seen %v, truly %v", stated, seen, want)
	}
	if covered < 0.94-2*math.Sqrt(0.94*0.06/evaluations) {
		t.Errorf("covered %.1f%% of the time", 100*covered)
	}
}
