package staged_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"speceval/method/neyman"
	"speceval/method/staged"
)

// past is all that has been seen of an evaluation: by stage and task, rollouts and
// passes.
type past struct{ sizes, passes [][]int }

// totals are a past's rollouts and passes by task.
func (p past) totals(tasks int) (observed, successes []int) {
	observed, successes = make([]int, tasks), make([]int, tasks)
	for k := range p.sizes {
		for i := range tasks {
			observed[i] += p.sizes[k][i]
			successes[i] += p.passes[k][i]
		}
	}
	return observed, successes
}

// scorer is a way to score tasks. It may look at anything that has been seen.
type scorer func(p past, tasks int) []float64

// cold scores by the reference prior.
func cold(p past, tasks int) []float64 {
	observed, successes := p.totals(tasks)
	scores := make([]float64, tasks)
	prior.Partial(0).Scores(observed, successes, prior.NewWork(), scores)
	return scores
}

var prior = must(neyman.NewPrior(6))

// wrong scores by a prior of probabilities near 0.99, whatever they are.
func wrong(p past, tasks int) []float64 {
	observed, successes := p.totals(tasks)
	scores := make([]float64, tasks)
	for i := range scores {
		a, b := 40+float64(successes[i]), 0.4+float64(observed[i]-successes[i])
		scores[i] = a * b / ((a + b) * (a + b + 1))
	}
	return scores
}

// greedy puts nearly all on the task with the most passes.
func greedy(p past, tasks int) []float64 {
	_, successes := p.totals(tasks)
	scores := slices.Repeat([]float64{1e-300}, tasks)
	scores[slices.Index(successes, slices.Max(successes))] = 1e300
	return scores
}

// arbitrary is a function of the past, another for every salt; some scores are 0.
func arbitrary(salt uint64) scorer {
	return func(p past, tasks int) []float64 {
		seed := rand.NewPCG(salt, 1).Uint64()
		for k := range p.sizes {
			for i := range tasks {
				seed = rand.NewPCG(seed, uint64(p.sizes[k][i])<<32|uint64(p.passes[k][i])).Uint64()
			}
		}
		random := rand.New(rand.NewPCG(seed, 2))
		scores := make([]float64, tasks)
		for i := range scores {
			scores[i] = max(0, random.Float64()-0.2)
		}
		return scores
	}
}

// others is an arbitrary leave-one-out weight.
func others(salt uint64) func([]int) float64 {
	return func(counts []int) float64 {
		mixed := salt
		for _, n := range counts {
			mixed = rand.NewPCG(mixed, uint64(n)).Uint64()
		}
		return float64(mixed>>11) * 0x1p-53
	}
}

// every visits all outcomes of an evaluation of tasks with the chances ps, by following it
// after every stage from the start: begin is the evaluation before its pilot, and decide takes
// it past a barrier.
func every(t *testing.T, ps []float64, begin func() *staged.Stages, decide func(s *staged.Stages, p past), end func(s *staged.Stages, p past, chance float64)) {
	t.Helper()
	var follow func(p past, chance float64)
	follow = func(p past, chance float64) {
		s := begin()
		for k, passes := range p.passes {
			if !slices.Equal(s.Sizes(), p.sizes[k]) {
				t.Fatalf("after the same past the sizes are %v, and were %v", s.Sizes(), p.sizes[k])
			}
			ok(t, s.Observe(passes))
			if !s.Done() {
				decide(s, past{p.sizes[:k+1], p.passes[:k+1]})
			}
		}
		if s.Done() {
			end(s, p, chance)
			return
		}
		sizes, passes := slices.Clone(s.Sizes()), make([]int, len(ps))
		for i := 0; i < len(ps); {
			own := chance
			for i, x := range passes {
				own *= binomial(sizes[i], x, ps[i])
			}
			follow(past{append(slices.Clone(p.sizes), sizes), append(slices.Clone(p.passes), slices.Clone(passes))}, own)
			for i = 0; i < len(ps) && passes[i] == sizes[i]; i++ {
				passes[i] = 0
			}
			if i < len(ps) {
				passes[i]++
			}
		}
	}
	follow(past{}, 1)
}

// pairs is Σ w_i·w_j·(X_i−p_i)·(X_j−p_j) over the pilots of pairs of tasks.
func pairs(p past, ps []float64, weigh func(others []int) float64) float64 {
	m := p.sizes[0][0]
	counts := make([]int, m+1)
	for _, x := range p.passes[0] {
		counts[x]++
	}
	all, own := 0.0, 0.0
	for i, x := range p.passes[0] {
		counts[x]--
		error := weigh(counts) * (float64(x)/float64(m) - ps[i])
		counts[x]++
		all += error
		own += error * error
	}
	return all*all - own
}

func binomial(n, x int, p float64) float64 {
	ways := 1.0
	for k := range x {
		ways = ways * float64(n-k) / float64(k+1)
	}
	return ways * math.Pow(p, float64(x)) * math.Pow(1-p, float64(n-x))
}

// TestEveryOutcome goes through all outcomes of small evaluations. The estimate is
// unbiased, and its variance is Σ v·E[Σ c²/n]/N², whatever the scores are; under
// leave-one-out weights, which make pilots of two tasks depend on each other, with
// what pairs of pilots add.
func TestEveryOutcome(t *testing.T) {
	type shape struct {
		budget, pilots int
		fractions      []float64
		ps             []float64
		least          int
	}
	shapes := []shape{
		{3, 1, []float64{1}, []float64{0.9, 0.2, 0.5}, 0},
		{4, 2, []float64{1}, []float64{0.05, 0.6, 0.35}, 0},
		{6, 2, []float64{1}, []float64{0.03, 0.5}, 0},
		{4, 1, []float64{0.5, 1}, []float64{0.2, 0.7, 0.99}, 0},
		{5, 1, []float64{0.3, 1}, []float64{0.5, 0.1}, 0},
		{6, 2, []float64{0.4, 1}, []float64{0.8, 0.4}, 0},
		{4, 1, []float64{0.4, 0.5, 1}, []float64{0.3, 0.9}, 0},
		{6, 1, []float64{0.3, 0.45, 1}, []float64{0.65, 0.12}, 0},
		{3, 1, []float64{0.5, 0.5, 1}, []float64{0.4, 0.02, 0.8}, 0},
		{4, 1, []float64{1, 0.5, 1}, []float64{0.4, 0.02}, 0}, // all finish in the second stage
		{6, 2, []float64{0.3, 1}, []float64{0.8, 0.4}, 3},
		{5, 1, []float64{0.5, 0.5, 1}, []float64{0.1, 0.6}, 2},
	}
	for number, shape := range shapes {
		for name, score := range map[string]scorer{"cold": cold, "wrong": wrong, "greedy": greedy, "arbitrary": arbitrary(uint64(number)), "another": arbitrary(uint64(number + 100))} {
			for weighing, plan := range map[string]staged.Plan{
				"fixed": {Weight: 0.3}, "none": {Weight: 0}, "all": {Weight: 1}, "leave one out": {LeaveOneOut: others(uint64(number))},
			} {
				t.Run(fmt.Sprintf("%d/%s/%s", number, name, weighing), func(t *testing.T) {
					plan.Pilots, plan.Fractions, plan.Least = shape.pilots, shape.fractions, shape.least
					checkShape(t, len(shape.ps), shape.budget, plan, shape.ps, score)
				})
			}
		}
	}
}

func checkShape(t *testing.T, tasks, budget int, plan staged.Plan, ps []float64, score scorer) {
	t.Helper()
	weigh := plan.LeaveOneOut
	if weigh == nil {
		weigh = func([]int) float64 { return plan.Weight }
	}
	s, n := begin(t, tasks, budget, plan), float64(tasks)
	var want, mean, square, formula, paired float64
	for _, p := range ps {
		want += p / n
	}
	decide := func(s *staged.Stages, p past) { ok(t, s.Decide(score(p, tasks))) }
	every(t, ps, func() *staged.Stages { s.Restart(); return s }, decide, func(s *staged.Stages, p past, chance float64) {
		all, sum := 0, 0.0
		observed, _ := p.totals(tasks)
		for i, x := range observed {
			all, sum = all+x, sum+s.Means()[i]
			formula += chance * ps[i] * (1 - ps[i]) * s.Shrinkage()[i] / (n * n)
		}
		if all != tasks*budget || s.Left() != 0 || math.Abs(sum/n-s.Mean()) > 1e-15 {
			t.Fatalf("%d rollouts in all, %d left, want %d and 0; the mean is %v, the tasks' %v", all, s.Left(), tasks*budget, s.Mean(), sum/n)
		}
		mean += chance * s.Mean()
		square += chance * s.Mean() * s.Mean()
		paired += chance * pairs(p, ps, weigh) / (n * n)
	})
	if math.Abs(mean-want) > 1e-14 {
		t.Errorf("the expected estimate is %.17f, want %.17f", mean, want)
	}
	if variance := square - mean*mean; math.Abs(variance-formula-paired) > 1e-14 {
		t.Errorf("the variance is %.17f, by the formula %.17f and pairs of pilots %.17f", variance, formula, paired)
	}
	if plan.LeaveOneOut == nil && math.Abs(paired) > 1e-14 {
		t.Errorf("pairs of pilots have the covariance %v", paired)
	}
}

// An evaluation of three tasks in three stages, scored by the reference prior. The
// task that is solved at times gets most of the rollouts.
func Example() {
	prior, err := neyman.NewPrior(16)
	if err != nil {
		panic(err)
	}
	const tasks, budget = 3, 8
	s, err := staged.New(tasks, budget, staged.Plan{Pilots: 2, Weight: 0.2, Fractions: []float64{0.4, 1}})
	if err != nil {
		panic(err)
	}
	partial, work := prior.Partial(budget), prior.NewWork()
	observed, successes, scores := make([]int, tasks), make([]int, tasks), make([]float64, tasks)
	for {
		var passes []int
		for i, n := range s.Sizes() {
			passes = append(passes, []int{n, n / 2, 0}[i]) // what a model would have made of them
			observed[i] += n
			successes[i] += passes[i]
		}
		fmt.Printf("%v rollouts of %v, weights %.2f\n", s.Sizes(), s.Shares(), s.Weights())
		if err := s.Observe(passes); err != nil {
			panic(err)
		}
		if s.Done() {
			break
		}
		partial.Scores(observed, successes, work, scores)
		if err := s.Decide(scores); err != nil {
			panic(err)
		}
	}
	fmt.Printf("estimate %.3f\n", s.Mean())
	// Output:
	// [2 2 2] rollouts of [8 8 8], weights [0.20 0.20 0.20]
	// [2 3 2] rollouts of [5 7 6], weights [0.32 0.34 0.27]
	// [3 5 3] rollouts of [3 5 3], weights [0.48 0.46 0.53]
	// estimate 0.466
}
