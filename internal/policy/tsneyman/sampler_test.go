package tsneyman

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mathext"

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

func TestTrajectoriesAllocateNothing(t *testing.T) {
	random := seed.Root(4).Stream()
	o := NewOutcomes(probabilities(t, "aime24__model=qwen3_5_4b"))
	o.Begin(random.At(0))
	s := NewSampler(0.07)
	run := func() {
		s.Begin(o, 2, random.At(1))
		s.Advance(16 * o.Tasks())
	}
	run()
	if n := testing.AllocsPerRun(3, run); n > 0 {
		t.Errorf("%v allocations", n)
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

// TestFewTasks compares 10⁶ draws of each of some small states with the
// integral of the beta densities, at four standard errors: once in 1000 runs by
// chance.
func TestFewTasks(t *testing.T) {
	for k, c := range []struct {
		alpha               float64
		rollouts, successes []int32
	}{
		{0.07, []int32{2, 5}, []int32{1, 5}},
		{0.05, []int32{12, 9, 5}, []int32{6, 2, 0}},
		{0.3, []int32{3, 3, 4}, []int32{0, 1, 4}},
		{20, []int32{7, 8}, []int32{7, 3}},
	} {
		s := at(c.alpha, c.rollouts, c.successes, seed.Root(6).Index(k).Stream())
		const n = 1_000_000
		counts, sum := draws(s, n), 0.0
		for i, got := range counts {
			p := integral(c.alpha, c.rollouts, c.successes, i)
			sum += p
			if math.Abs(float64(got)-n*p) > 4*math.Sqrt(n*p*(1-p)) {
				t.Errorf("case %d: task %d is selected %d times, want %.0f", k, i, got, n*p)
			}
		}
		if math.Abs(sum-1) > 1e-6 {
			t.Errorf("case %d: the integrals add up to %v", k, sum)
		}
	}
}

// integral is the probability that task i has the largest score: over the logit
// of its p, the density times the chance that no other is larger, in pieces that
// end where another task's score can no longer be larger.
func integral(alpha float64, rollouts, successes []int32, i int) float64 {
	a, b := alpha+float64(successes[i]), alpha+float64(rollouts[i]-successes[i])
	gain := float64(rollouts[i]) * float64(rollouts[i]+1)
	f := func(v float64) float64 {
		// p and 1−p, each without cancellation
		log1 := -math.Log1p(math.Exp(-math.Abs(v)))
		logP, logRest := log1, log1-math.Abs(v)
		if v < 0 {
			logP, logRest = logRest, logP
		}
		product := math.Exp(a*logP + b*logRest - mathext.Lbeta(a, b))
		depth := (math.Log(gain) - logP - logRest) / math.Ln2
		for j := range rollouts {
			if j != i {
				n := float64(rollouts[j])
				product *= below(alpha+float64(successes[j]), alpha+n-float64(successes[j]), n, depth)
			}
		}
		return product
	}
	ends := []float64{-2000, -400, -100, -50, -25, -12, -6, -3, -1.5, 0, 1.5, 3, 6, 12, 25, 50, 100, 400, 2000}
	for _, n := range rollouts {
		if y := gain / float64(n) / float64(n+1) / 4; y < 0.25 { // score i at the largest of the other
			v := 2 * math.Atanh(math.Sqrt(1-4*y))
			ends = append(ends, v, -v)
		}
	}
	slices.Sort(ends)
	sum := 0.0
	for k := 1; k < len(ends); k++ {
		// ends are square roots: a substitution with a zero of its derivative there
		low, width := ends[k-1], ends[k]-ends[k-1]
		sum += quad.Fixed(func(u float64) float64 {
			return f(low+width*u*u*(3-2*u)) * width * 6 * u * (1 - u)
		}, 0, 1, 60, nil, 0)
	}
	return sum
}
