package studies

import (
	"math"
	"slices"

	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/method/estimate"
	"speceval/method/neyman"
	"speceval/method/staged"
)

// plan is how an evaluation spends a budget of rollouts per task: HBN with a pilot of
// about three eighths of it, which is near the paper's designs.
func plan(budget int) staged.Plan {
	return staged.Plan{Pilots: max(1, budget*3/8), Weight: 0.3, Fractions: []float64{1}}
}

// evaluator draws evaluations of tasks. It belongs to one goroutine.
type evaluator struct {
	prior   *neyman.Prior
	partial *neyman.Partial
	work    *neyman.Work
}

func (s *study) evaluator() *evaluator {
	return &evaluator{prior: s.prior, partial: s.prior.Partial(1), work: s.prior.NewWork()}
}

// evaluate draws an evaluation of tasks with the probabilities ps.
func (e *evaluator) evaluate(ps []float64, budget int, plan staged.Plan, random *seed.Stream) ([]estimate.Task, error) {
	stages, err := staged.New(len(ps), budget, plan)
	if err != nil {
		return nil, err
	}
	tasks := make([]estimate.Task, len(ps))
	passes, observed, successes, scores := make([]int, len(ps)), make([]int, len(ps)), make([]int, len(ps)), make([]float64, len(ps))
	for {
		for i, n := range stages.Sizes() {
			passes[i] = binomial(random, n, ps[i])
			observed[i] += n
			successes[i] += passes[i]
			tasks[i].Stages = append(tasks[i].Stages, estimate.Binary(n, passes[i], stages.Weights()[i]))
		}
		if err := stages.Observe(passes); err != nil {
			return nil, err
		}
		if stages.Done() {
			return tasks, nil
		}
		e.partial.Scores(observed, successes, e.work, scores)
		if err := stages.Decide(scores); err != nil {
			return nil, err
		}
	}
}

// extend extends an evaluation by as many rollouts as it has, one for one in the mean:
// half of the weight is the old ones'. They are allocated by all that was seen.
func (e *evaluator) extend(tasks []estimate.Task, ps []float64, more int, random *seed.Stream) ([]estimate.Task, error) {
	n := len(ps)
	past := staged.Past{Means: make([]float64, n), Shrinkage: make([]float64, n)}
	observed, successes, scores := make([]int, n), make([]int, n), make([]float64, n)
	extended := make([]estimate.Task, n)
	for i, t := range tasks {
		for _, s := range t.Stages {
			past.Means[i] += s.Weight * s.Rewards / float64(s.Rollouts)
			past.Shrinkage[i] += s.Weight * s.Weight / float64(s.Rollouts)
			observed[i] += s.Rollouts
			successes[i] += int(s.Rewards)
			s.Weight /= 2
			extended[i].Stages = append(extended[i].Stages, s)
		}
	}
	stages, err := staged.Extend(past, n*more, staged.Plan{Weight: 0.5, Fractions: []float64{1}})
	if err != nil {
		return nil, err
	}
	e.partial.Scores(observed, successes, e.work, scores)
	if err := stages.Decide(scores); err != nil {
		return nil, err
	}
	for i, size := range stages.Sizes() {
		extended[i].Stages = append(extended[i].Stages, estimate.Binary(size, binomial(random, size, ps[i]), stages.Weights()[i]))
	}
	return extended, nil
}

// mean draws an evaluation and estimates the mean by it.
func (e *evaluator) mean(ps []float64, budget int, random *seed.Stream) (estimate.Mean, error) {
	tasks, err := e.evaluate(ps, budget, plan(budget), random)
	if err != nil {
		return estimate.Mean{}, err
	}
	return estimate.Of(e.prior, tasks)
}

// binomial draws how many of n rollouts pass.
func binomial(random *seed.Stream, n int, p float64) int {
	passes := 0
	for range n {
		if random.Float64() < p {
			passes++
		}
	}
	return passes
}

// probabilities are the tasks' of a profile.
func probabilities(p profile.Profile) []float64 {
	ps := make([]float64, p.N())
	for i := range ps {
		ps[i] = p.P(i)
	}
	return ps
}

// average is the mean of some numbers.
func average(ps []float64) float64 {
	sum := 0.0
	for _, p := range ps {
		sum += p
	}
	return sum / float64(len(ps))
}

// swap gives a share of the tasks, two by two, one another's probabilities.
func swap(ps []float64, share float64, random *seed.Stream) {
	any := func() int { return int(random.Float64() * float64(len(ps))) }
	for range int(math.Ceil(share * float64(len(ps)) / 2)) {
		i, j := any(), any()
		ps[i], ps[j] = ps[j], ps[i]
	}
}

// shift moves the logits of all probabilities by the same, so that their mean moves by
// the given one, as far as that goes.
func shift(ps []float64, by float64) {
	moved := func(x float64) []float64 {
		all := slices.Clone(ps)
		for i, p := range all {
			p = min(0.999, max(0.001, p)) // 0 and 1 are what a thousand rollouts cannot tell from these
			all[i] = 1 / (1 + math.Exp(-math.Log(p/(1-p))-x))
		}
		return all
	}
	goal := min(0.995, max(0.005, average(ps)+by))
	low, high := -30.0, 30.0
	for range 60 {
		if middle := (low + high) / 2; average(moved(middle)) < goal {
			low = middle
		} else {
			high = middle
		}
	}
	copy(ps, moved(low))
}
