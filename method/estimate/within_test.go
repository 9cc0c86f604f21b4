package estimate

import (
	"math"
	"testing"

	"speceval/method/neyman"
)

// law is the probabilities of a task's rewards.
type law struct{ rewards, chances []float64 }

// moments are the mean and the variance of a reward.
func (l law) moments() (mean, variance float64) {
	square := 0.0
	for j, r := range l.rewards {
		mean += l.chances[j] * r
		square += l.chances[j] * r * r
	}
	return mean, square - mean*mean
}

// stages visits all outcomes of a stage of n rollouts with its sums.
func (l law) stages(n int, weight float64, visit func(s Stage, chance float64)) {
	var deeper func(s Stage, chance float64)
	deeper = func(s Stage, chance float64) {
		if s.Rollouts == n {
			s.Weight = weight
			visit(s, chance)
			return
		}
		for j, r := range l.rewards {
			deeper(Stage{Rollouts: s.Rollouts + 1, Rewards: s.Rewards + r, Squares: s.Squares + r*r}, chance*l.chances[j])
		}
	}
	deeper(Stage{}, 1)
}

// TestSampledVariancesAreUnbiased lists all outcomes of a task in three stages whose
// sizes and weights follow from the rewards before. What is sampled has the expectation
// of the variance and of Σ c²/n times it, exactly, unless the last stage has a single
// rollout: then own is too large, if anything.
func TestSampledVariancesAreUnbiased(t *testing.T) {
	for name, l := range map[string]law{
		"passes": {[]float64{0, 1}, []float64{0.8, 0.2}},
		"graded": {[]float64{0, 0.25, 1}, []float64{0.5, 0.3, 0.2}},
	} {
		for _, tt := range []struct {
			pilots, least int
		}{{2, 2}, {1, 2}, {2, 1}, {3, 1}} {
			_, v := l.moments()
			var own, single, want, total, square, value float64
			l.stages(tt.pilots, 0.3, func(first Stage, chance float64) {
				size := 1 // a second stage of one or two
				if first.Rewards > 0 && first.Rewards < float64(tt.pilots) {
					size = 2
				}
				weight := 0.2 * float64(size)
				l.stages(size, weight, func(second Stage, further float64) {
					last := tt.least
					if second.Rewards > 0 {
						last++
					}
					l.stages(last, 0.7-weight, func(third Stage, rest float64) {
						p := chance * further * rest
						task := Task{Stages: []Stage{first, second, third}}
						w := task.within()
						total += p
						own, single = own+p*w.own, single+p*w.single
						want += p * v * task.Shrinkage()
						value += p * task.Value()
						square += p * task.Value() * task.Value()
					})
				})
			})
			if math.Abs(total-1) > 1e-12 || math.Abs(square-value*value-want) > 1e-12 {
				t.Fatalf("%s: the variance is %v, want %v", name, square-value*value, want)
			}
			if tt.least > 1 && (math.Abs(own-want) > 1e-12 || math.Abs(single-v) > 1e-12) {
				t.Errorf("%s, %+v: sampled %v and %v, want %v and %v", name, tt, own, single, want, v)
			}
			if own < want-1e-12 || own > 1.3*want {
				t.Errorf("%s, %+v: sampled %v, want %v or somewhat more", name, tt, own, want)
			}
		}
	}
	if w := (Task{Stages: []Stage{Binary(1, 1, 1)}}).within(); w != (within{}) {
		t.Errorf("of one rollout %+v is known", w)
	}
}

// TestTheLargerVarianceCounts holds the standard error to the posterior's where no
// failure was seen, and to the samples' where tasks are unlike the posterior's: of
// which either is 50 tasks.
func TestTheLargerVarianceCounts(t *testing.T) {
	prior, err := neyman.NewPrior(16)
	if err != nil {
		t.Fatal(err)
	}
	of := func(tasks []Task) (Mean, variances) {
		t.Helper()
		observed, rewards := make([]int, len(tasks)), make([]float64, len(tasks))
		for i, task := range tasks {
			all := Sum(task.Stages)
			observed[i], rewards[i] = all.Rollouts, min(all.Rewards, float64(all.Rollouts))
		}
		update, err := prior.Update(observed, rewards)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Of(prior, tasks)
		if err != nil {
			t.Fatal(err)
		}
		shares, sum := Shares(tasks)
		return m, newVariances([]neyman.Mixture{update.Mixture()}, tasks, shares, sum)
	}
	var alike, unlike []Task
	for i := range 50 {
		alike = append(alike, Task{Stages: []Stage{Binary(4, 4, 0.4), Binary(4, 4, 0.6)}})
		passes := 1 - min(1, i%8) // one in eight passes the only continuation that is asked
		unlike = append(unlike, Task{Stages: []Stage{Binary(4, 0, 0.4), Binary(1, passes, 0.6)}})
	}
	m, v := of(alike)
	if v.within.own != 0 || math.Abs(m.StandardError-math.Sqrt(v.expected)) > 1e-15 {
		t.Errorf("no failure seen: %v, by the posterior %v and the samples %v", m.StandardError, math.Sqrt(v.expected), v.within.own)
	}
	m, v = of(unlike)
	if v.within.own <= v.expected || math.Abs(m.StandardError-math.Sqrt(v.within.own)) > 1e-15 {
		t.Errorf("unlike the prior: %v, by the posterior %v and the samples %v", m.StandardError, math.Sqrt(v.expected), math.Sqrt(v.within.own))
	}
	if v.quantile() <= quantile || v.explained <= 0 || v.explained > v.doubt {
		t.Errorf("the quantile is %v, with a doubt of %v of which the mean explains %v", v.quantile(), v.doubt, v.explained)
	}
}
