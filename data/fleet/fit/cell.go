package main

import (
	"context"
	"math"

	"speceval/internal/fleet/workload"
	"speceval/internal/seed"
)

// cell is a profile while its model is fitted.
type cell struct {
	*fact
	model   *workload.Model // as it is believed to be now
	lengths workload.Lengths

	held   func(uniform) bool // runs that the fit may not use
	target float64            // mean FLOPs of an answer that does not loop
	pace   float64            // logarithm
	loop   float64            // probability that an answer loops; 0 for thinking models
	loops  []loops            // of each run of Uniform

	deviations []float64 // by which a run's logarithm of time is off by chance
}

// loops is what a run's FLOPs and time say of the answers in it that looped.
type loops struct {
	count float64 // expected
	sure  bool    // that there are some, or that there are none
}

// reference is the budget at which long runs are simulated: what comes after is
// a matter of throughput.
const reference = 16

// longest is the largest budget of a thinking model that the fit simulates.
const longest = 24

// seed is the branch of the seed tree of a profile's simulations.
func (f *fact) seed(purpose string) seed.Seed {
	return seed.Root(0).Child("fit").Child(purpose).Child(f.Benchmark).Child(f.Model)
}

// execution is a run of Uniform at a budget.
func (c *cell) execution(m workload.Model, l workload.Lengths, budget, loops int, purpose string) execution {
	m.Timing.Pace = l.Pace
	return execution{
		model: m, law: workload.NewLaw(m, l, c.Profile), tasks: c.N(), budget: budget,
		seed: c.seed(purpose).Index(budget), loops: loops,
	}
}

// residuals are, for every run of Uniform, the logarithm of its time over the
// simulated one's, less the profile's pace, then that of the mean FLOPs, by budget
// that of what HBN's useful FLOPs are beside Uniform's, and last the pace.
func (c *cell) residuals(ctx context.Context, m workload.Model, l workload.Lengths, draws int) ([]float64, error) {
	type load struct{ budget, loops int }
	known := map[load]float64{}
	simulate := func(at load) (float64, error) {
		if v, ok := known[at]; ok {
			return v, nil
		}
		repeats := max(1, (draws+at.budget/2)/at.budget)
		v, err := c.execution(m, l, at.budget, at.loops, "residuals").meanLog(ctx, repeats)
		known[at] = v
		return v, err
	}
	more := c.work(m, l) * float64(c.N()) / replicas
	r := make([]float64, len(c.uniform))
	for i, run := range c.uniform {
		at := load{budget: run.budget}
		beyond := 0
		if m.ThinkingTokens == 0 {
			at.loops = int(math.Round(c.loops[i].count))
		} else if run.budget > longest {
			at.budget, beyond = reference, run.budget-reference
		}
		v, err := simulate(at)
		if err != nil {
			return nil, err
		}
		if beyond > 0 {
			v = math.Log(math.Exp(v) + float64(beyond)*more)
		}
		r[i] = math.Log(run.seconds) - v
	}
	pace := c.takePace(r)
	means := c.means(l)
	r = append(append(r, math.Log(c.target/average(means))), c.gaps(means)...)
	return append(r, pace), nil
}

// takePace takes from the logarithms of times what all runs of the profile have in
// common, as far as that is believed. A profile's prompts, and what else its
// requests cost by the token, are known roughly: a percent or two of all its times.
// Without a pace the lengths would have to answer for it, and with them the wait for
// the last answers, of which times at small budgets say much more.
func (c *cell) takePace(r []float64) (pace float64) {
	for range 4 {
		sum, weights := 0.0, 1/(paceDeviation*paceDeviation)
		for i := range r {
			if c.usable(i) {
				_, weight := loss((r[i] - pace) / c.deviations[i])
				weight /= c.deviations[i] * c.deviations[i]
				sum, weights = sum+weight*r[i], weights+weight
			}
		}
		pace = sum / weights
	}
	for i := range r {
		r[i] -= pace
	}
	return pace
}

// work is the seconds that a full replica takes for a rollout, on average.
func (c *cell) work(m workload.Model, l workload.Lengths) float64 {
	law := workload.NewLaw(m, l, c.Profile)
	step := float64(m.Timing.Base+window*m.Timing.Sequence) / window
	prompt := float64(c.prompt)
	sum := 0.0
	for i := range c.N() {
		sum += law.Mean(i, func(tokens float64) float64 {
			late := 0.0
			if after := float64(m.ThinkingTokens); after > 0 && tokens > after {
				late = float64(m.Timing.Late) * (tokens*tokens - after*after) / 2
			}
			return tokens*step + float64(m.Timing.Context)*(tokens*prompt+tokens*tokens/2) + late + float64(m.Timing.Prompt)*prompt
		})
	}
	return sum / float64(c.N()) * 1e-9
}

// chance estimates how far times are off by chance, from repeats at the two
// smallest budgets: the drain's part does not grow with the budget, that of the
// mean length as its root. To this comes what no model of ours explains.
func (c *cell) chance(ctx context.Context, draws int) error {
	const repeats = 10
	var deviation [2]float64 // seconds
	for k, budget := range budgets[:2] {
		sum, squares := 0.0, 0.0
		for r := range repeats {
			x := c.execution(*c.model, c.lengths, budget, 0, "chance")
			x.seed = x.seed.Index(r)
			s, err := x.seconds(ctx)
			if err != nil {
				return err
			}
			sum, squares = sum+s, squares+s*s
		}
		deviation[k] = math.Sqrt(math.Max(0, squares-sum*sum/repeats) / (repeats - 1))
	}
	c.deviations = make([]float64, len(c.uniform))
	for i, run := range c.uniform {
		growth := (math.Sqrt(float64(run.budget)) - math.Sqrt(8)) / (4 - math.Sqrt(8))
		d := math.Max(deviation[0]+(deviation[1]-deviation[0])*growth, 0.7*deviation[0]) / run.seconds
		simulated := math.Max(1, float64(draws)/float64(run.budget))
		c.deviations[i] = math.Sqrt(unexplained*unexplained + d*d*(1+1/simulated))
	}
	c.deviations = append(append(c.deviations, flopsDeviation), c.gapDeviations()...)
	c.deviations = append(c.deviations, paceDeviation)
	return nil
}

// flopsDeviation is how far off the mean FLOPs may be: they come out by the
// choice of the location, unless no location gives them.
const flopsDeviation = 0.003

// unexplained is the standard deviation that times have beyond chance.
const unexplained = 0.015

// paceDeviation is the standard deviation that all times of a profile have in
// common, beyond that.
const paceDeviation = 0.03

// usable tells whether the fit may use a residual.
func (c *cell) usable(i int) bool {
	return i >= len(c.uniform) || !c.held(c.uniform[i]) && (c.model.ThinkingTokens > 0 || c.loops[i].sure)
}
