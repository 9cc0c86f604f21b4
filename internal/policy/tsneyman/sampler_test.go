package tsneyman

import (
	"math"
	"slices"
	"testing"

	"speceval/internal/policy/seed"
)

func TestAdvanceSpendsTheBudget(t *testing.T) {
	random := seed.Root(1).Stream()
	for _, alpha := range []float64{1e-10, 0.01, 1, 1000} {
		s := NewSampler(alpha)
		for k, p := range [][]float64{{0.5}, {0}, {0.3, 1}, {0, 1, 0.5}, {0, 0, 0, 0, 0, 0, 0, 0, 0}, slices.Repeat([]float64{0.5}, 50)} {
			o := NewOutcomes(p)
			o.Begin(random.At(uint64(2 * k)))
			s.Begin(o, 1+k%3, random.At(uint64(2*k+1)))
			for _, budget := range []int{0, 3, 20, 10} {
				s.Advance(budget * len(p))
				checkCounts(t, s, o, budget*len(p))
			}
		}
	}
}

// checkCounts holds the counts to the outcomes and to the budget, and the sums
// of hazards to a fresh computation, bit for bit.
func checkCounts(t *testing.T, s *Sampler, o *Outcomes, budget int) {
	t.Helper()
	sum := 0
	for i, n := range s.Rollouts() {
		sum += int(n)
		passes := 0
		for j := range int(n) {
			if o.Pass(i, j) {
				passes++
			}
		}
		if passes != int(s.successes[i]) {
			t.Errorf("task %d has %d passes, its outcomes %d", i, s.successes[i], passes)
		}
	}
	if sum < budget || sum != s.spent {
		t.Errorf("%d rollouts, want %d", sum, budget)
	}
	fresh := at(s.race.table.alpha, s.rollouts, s.successes, seed.Stream{})
	fresh.enter(fresh.race.table.window(s.race.table.windows[s.race.window].windowKey))
	if s.race.total != fresh.race.total || !slices.Equal(s.race.blocks, fresh.race.blocks) || !slices.Equal(s.race.tasks, fresh.race.tasks) {
		t.Errorf("hazards %v have drifted from %v", s.race.total, fresh.race.total)
	}
}

// TestManyRollouts has one task that takes nearly all of a large budget.
func TestManyRollouts(t *testing.T) {
	random := seed.Root(2).Stream()
	o := NewOutcomes([]float64{0.5, 0, 1})
	o.Begin(random.At(0))
	s := NewSampler(0.05)
	s.Begin(o, 2, random.At(1))
	s.Advance(6000)
	checkCounts(t, s, o, 6000)
	if s.Rollouts()[0] < 5000 {
		t.Errorf("rollouts %v: most should be of the task that varies", s.Rollouts())
	}
}

// TestTrajectoriesDoNotDependOnThePast compares a used sampler, one whose table
// is emptied all the time, and fresh ones.
func TestTrajectoriesDoNotDependOnThePast(t *testing.T) {
	random := seed.Root(3).Stream()
	used, forgetful := NewSampler(0.07), NewSampler(0.07)
	forgetful.mostRows = 1
	names := []string{"aime24__model=qwen3_5_4b", "math_100__model=qwen2_5_3b"}
	for k := range 6 {
		o := NewOutcomes(probabilities(t, names[k%2]))
		o.Begin(random.At(uint64(k)))
		fresh := NewSampler(0.07)
		for _, s := range []*Sampler{fresh, used, forgetful} {
			s.Begin(o, 2+k/2, random.At(uint64(100+k)))
		}
		for _, budget := range []int{8, 20} {
			for _, s := range []*Sampler{fresh, used, forgetful} {
				s.Advance(budget * o.Tasks())
				if !slices.Equal(s.Rollouts(), fresh.Rollouts()) || !slices.Equal(s.successes, fresh.successes) {
					t.Fatalf("trajectory %d depends on what the sampler did before", k)
				}
			}
		}
	}
}

func TestOutcomesHaveTheirProbability(t *testing.T) {
	p := []float64{0, 1, 0.5, 1.0 / 1024, 0.9}
	o := NewOutcomes(p)
	o.Begin(seed.Root(5).Stream())
	const n = 50_000
	for i, p := range p {
		passes := 0.0
		for j := range n {
			if o.Pass(i, j) {
				passes++
			}
		}
		if math.Abs(passes-n*p) > 5*math.Sqrt(n*p*(1-p)) {
			t.Errorf("%v of %d pass, p = %v", passes, n, p)
		}
	}
}
