package estimate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"speceval/method/staged"
)

// evaluation is one under enumeration: two tasks or more in stages, by scores that may
// depend on all that was seen.
type evaluation struct {
	*staged.Stages
	question Question
	ps       []float64
	salt     uint64
}

// seen is the stages of every task so far.
type seen [][]stage

func (s seen) with(sizes, passes []int, weights []float64) seen {
	next := make(seen, len(s))
	for i := range s {
		next[i] = append(slices.Clone(s[i]), stage{sizes[i], passes[i], weights[i]})
	}
	return next
}

// scores are any function of the past.
func (e evaluation) scores(past seen) []float64 {
	mixed := e.salt
	for _, stages := range past {
		for _, s := range stages {
			mixed = rand.NewPCG(mixed, uint64(s.rollouts)<<32|uint64(s.passes)).Uint64()
		}
	}
	random := rand.New(rand.NewPCG(mixed, 2))
	scores := make([]float64, len(past))
	for i := range scores {
		scores[i] = max(0, random.Float64()-0.2)
	}
	return scores
}

// replay goes to the stage after a past.
func (e evaluation) replay(t *testing.T, past seen) {
	t.Helper()
	e.Restart()
	for k := range past[0] {
		passes := make([]int, len(past))
		before := make(seen, len(past))
		for i := range past {
			passes[i] = past[i][k].passes
			before[i] = past[i][:k+1]
		}
		if err := e.Observe(passes); err != nil {
			t.Fatal(err)
		}
		if e.Done() {
			return
		}
		if err := e.Decide(e.scores(before)); err != nil {
			t.Fatal(err)
		}
	}
}

// sums are expectations over all that can follow: of the answers of tasks, of their
// squares, of the variance polynomials at the tasks' p, and of the product of the first
// two answers.
type sums struct {
	value, square, variance []float64
	product                 float64
}

func (e evaluation) enumerate(t *testing.T, past seen, chance float64, all *sums) {
	t.Helper()
	e.replay(t, past)
	if e.Done() {
		e.ended(t, past, chance, all)
		return
	}
	sizes, weights := slices.Clone(e.Sizes()), slices.Clone(e.Weights())
	passes := make([]int, len(e.ps))
	for {
		own := chance
		for i, x := range passes {
			own *= choose(float64(sizes[i]), x) * math.Pow(e.ps[i], float64(x)) * math.Pow(1-e.ps[i], float64(sizes[i]-x))
		}
		e.enumerate(t, past.with(sizes, passes, weights), own, all)
		i := 0
		for ; i < len(passes) && passes[i] == sizes[i]; i++ {
			passes[i] = 0
		}
		if i == len(passes) {
			return
		}
		passes[i]++
	}
}

func (e evaluation) ended(t *testing.T, past seen, chance float64, all *sums) {
	t.Helper()
	product := chance
	for i, stages := range past {
		p, err := e.question.follow(stages)
		if err != nil {
			t.Fatalf("task %d: %v after %+v", i, err, stages)
		}
		if !(p.value >= -1e-15 && p.value <= 1+1e-15) {
			t.Fatalf("an answer of %v", p.value)
		}
		powers := make([]float64, 2*e.question.K+1)
		for d := range powers {
			powers[d] = math.Pow(e.ps[i], float64(d))
		}
		all.value[i] += chance * p.value
		all.square[i] += chance * p.value * p.value
		all.variance[i] += chance * p.variance.expect(powers)
		if i < 2 {
			product *= p.value
		}
	}
	all.product += product
}

// TestEveryOutcome goes through all outcomes of small evaluations, whose sizes depend on
// what was seen. The answer of every task is unbiased for p^k, its variance is what the
// polynomials say, and tasks are uncorrelated. k is larger than any one stage at times.
func TestEveryOutcome(t *testing.T) {
	for number, tt := range []struct {
		budget, pilots, least int
		weight                float64
		fractions             []float64
		k                     int
		ps                    []float64
	}{
		{4, 2, 0, 0.4, []float64{1}, 1, []float64{0.3, 0.8}},
		{4, 2, 0, 0.4, []float64{1}, 2, []float64{0.3, 0.8}},
		{4, 2, 0, 0.4, []float64{1}, 3, []float64{0.3, 0.8}},
		{5, 2, 2, 0.3, []float64{1}, 4, []float64{0.6, 0.9}},
		{5, 1, 3, 0.2, []float64{1}, 4, []float64{0.6, 0.9}},
		{5, 2, 3, 0, []float64{1}, 3, []float64{0.6, 0.9}},
		{5, 2, 1, 0.95, []float64{1}, 3, []float64{0.6, 0.9}},
		{5, 1, 0, 0.25, []float64{0.4, 1}, 2, []float64{0.7, 0.5}},
		{6, 1, 2, 0.2, []float64{0.4, 1}, 3, []float64{0.7, 0.5}},
		{6, 2, 2, 0.2, []float64{0.3, 1}, 4, []float64{0.7, 0.95}},
		{6, 1, 2, 0.1, []float64{0.3, 0.4, 1}, 3, []float64{0.4, 0.9}},
		{3, 1, 2, 0.3, []float64{1}, 2, []float64{0.4, 0.9, 0.6}},
	} {
		t.Run(fmt.Sprint(number), func(t *testing.T) {
			s, err := staged.New(len(tt.ps), tt.budget, staged.Plan{Pilots: tt.pilots, Weight: tt.weight, Fractions: tt.fractions, Least: tt.least})
			if err != nil {
				t.Fatal(err)
			}
			e := evaluation{s, Question{K: tt.k, Least: tt.least}, tt.ps, uint64(number)}
			n := len(tt.ps)
			all := sums{value: make([]float64, n), square: make([]float64, n), variance: make([]float64, n)}
			e.enumerate(t, make(seen, n), 1, &all)
			truth := func(i int) float64 { return math.Pow(tt.ps[i], float64(tt.k)) }
			for i := range tt.ps {
				if math.Abs(all.value[i]-truth(i)) > 1e-13 {
					t.Errorf("task %d is expected to have %.15f, want %.15f", i, all.value[i], truth(i))
				}
				if variance := all.square[i] - truth(i)*truth(i); math.Abs(variance-all.variance[i]) > 1e-13 {
					t.Errorf("task %d has the variance %.15f, by the polynomials %.15f", i, variance, all.variance[i])
				}
			}
			if math.Abs(all.product-truth(0)*truth(1)) > 1e-13 {
				t.Errorf("two tasks have the covariance %v", all.product-truth(0)*truth(1))
			}
		})
	}
}

// TestOneStageIsTheUStatistic is C(s,k)/C(n,k) and its textbook variance.
func TestOneStageIsTheUStatistic(t *testing.T) {
	for n := 1; n <= 9; n++ {
		for k := 1; k <= n; k++ {
			for s := range n + 1 {
				p, err := Question{K: k}.follow([]stage{{n, s, 1}})
				if err != nil {
					t.Fatal(err)
				}
				if want := max(0, choose(float64(s), k)) / choose(float64(n), k); math.Abs(p.value-want) > 1e-14 {
					t.Errorf("%d of %d passed: pass^%d is %v, want %v", s, n, k, p.value, want)
				}
			}
			if _, err := (Question{K: n + 1}).follow([]stage{{n, 0, 1}}); err == nil {
				t.Errorf("pass^%d of %d rollouts", n+1, n)
			}
		}
	}
}

// A weight in the middle splits k as rollouts would, and at the ends takes all it can.
func TestSharesFollowTheWeights(t *testing.T) {
	for _, tt := range []struct {
		r, low, high int
		stage, all   float64
		mean         float64
	}{
		{4, 0, 4, 8, 16, 2}, {6, 0, 6, 30, 40, 4.5}, {3, 0, 3, 4, math.Inf(1), 0}, {3, 2, 3, 4, math.Inf(1), 2},
		{5, 1, 3, 3, 3.5, 3}, {5, 3, 5, 5, 5, 5}, {4, 0, 2, 5, 5, 2}, {1, 0, 1, 3, 12, 0.25},
	} {
		shares := hypergeometric(tt.r, tt.low, tt.high, tt.stage, tt.all)
		sum, mean := 0.0, 0.0
		for k, q := range shares {
			if q < 0 {
				t.Errorf("%+v: %v", tt, shares)
			}
			sum += q
			mean += q * float64(tt.low+k)
		}
		if math.Abs(sum-1) > 1e-14 || math.Abs(mean-tt.mean) > 0.02 {
			t.Errorf("%+v: %v with the mean %v", tt, shares, mean)
		}
	}
}
