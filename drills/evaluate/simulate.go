package main

import (
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/method/estimate"
	"speceval/method/neyman"
)

// Policies, as they are called in tables.
const (
	hbn     = "HBN"
	uniform = "Uniform"
)

// plan is how a policy spends a budget. Uniform's is a pilot and nothing else.
type plan struct {
	policy         string
	budget, pilots int // rollouts per task
	weight         float64
}

// uniformly is Uniform's plan for a budget.
func uniformly(budget int) plan { return plan{uniform, budget, budget, 1} }

// simulator draws evaluations of one profile. It belongs to one goroutine.
type simulator struct {
	prior     *neyman.Prior
	posterior *neyman.Posterior
	work      *neyman.Work
	plan      plan
	ps        []float64
	tasks     []estimate.Task
	passes    []int // of each task's pilot
	counts    []int // of tasks, by pilot passes
	scores    []float64
}

func newSimulator(prior *neyman.Prior, p profile.Profile, plan plan) *simulator {
	s := &simulator{
		prior: prior, plan: plan,
		ps: make([]float64, p.N()), tasks: make([]estimate.Task, p.N()), scores: make([]float64, p.N()),
		passes: make([]int, p.N()),
		counts: make([]int, plan.pilots+1),
	}
	for i := range s.ps {
		s.ps[i] = p.P(i)
	}
	if plan.policy != uniform {
		s.posterior, s.work = prior.Pilot(plan.pilots), prior.NewWork()
	}
	return s
}

// evaluate draws an evaluation and estimates the mean by it.
func (s *simulator) evaluate(random *seed.Stream) (estimate.Mean, error) {
	clear(s.counts)
	for i, p := range s.ps {
		passes := binomial(random, s.plan.pilots, p)
		s.tasks[i].Stages = append(s.tasks[i].Stages[:0], estimate.Binary(s.plan.pilots, passes, s.plan.weight))
		s.passes[i] = passes
		s.counts[passes]++
	}
	if s.plan.policy != uniform {
		if err := s.proceed(random); err != nil {
			return estimate.Mean{}, err
		}
	}
	return estimate.Of(s.prior, s.tasks)
}

// proceed draws the continuations that the pilot asks for.
func (s *simulator) proceed(random *seed.Stream) error {
	scores := s.posterior.Scores(s.counts, s.work)
	for i, passes := range s.passes {
		s.scores[i] = scores.At(passes)
	}
	allocation, err := neyman.Allocate(s.scores, len(s.tasks)*(s.plan.budget-s.plan.pilots))
	if err != nil {
		return err
	}
	for i, l := range allocation {
		passes := binomial(random, l, s.ps[i])
		s.tasks[i].Stages = append(s.tasks[i].Stages, estimate.Binary(l, passes, 1-s.plan.weight))
	}
	return nil
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
