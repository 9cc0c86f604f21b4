package main

import (
	"context"
	"math"

	"speceval/internal/fleet"
	"speceval/internal/fleet/virtual"
	"speceval/internal/policy/seed"
	"speceval/method/controller"
)

// The published workers.
const (
	replicas = 8
	window   = 32
)

// load is a run of Uniform to be simulated: a budget, and the number of answers at
// random places that go to the limit, besides the loops of the law.
type load struct{ budget, loops int }

// seconds is how long a run takes on this model with these lengths.
func (c *cell) seconds(m fleet.Model, l fleet.Lengths, at load, branch seed.Seed) float64 {
	lengths, submitted, looping := fleet.NewLaw(m, l, c.Profile).Sampler(branch), 0, map[int]bool{}
	random := branch.Child("loops").Stream()
	for total := c.N() * at.budget; len(looping) < min(at.loops, total/2); {
		looping[int(random.Float64()*float64(total))] = true
	}
	runs := must(virtual.Uniform(context.Background(), virtual.Settings{
		Timing: m.Timing, Replicas: replicas, Window: window, MaxSequences: m.MaxSequences, Handling: m.HandlingOf(c.N(), at.budget),
		Lengths: func(id controller.ID) (prompt, tokens int) {
			prompt, tokens = lengths(id)
			if looping[submitted] {
				tokens = m.MaxTokens
			}
			submitted++
			return prompt, tokens
		},
	}, c.N(), []int{at.budget}))
	return runs[0].Time.Seconds()
}

// repeat simulates a run several times and adds the seconds of each.
func (c *cell) repeat(m fleet.Model, l fleet.Lengths, at load, purpose string, repeats int, add func(seconds float64)) {
	for r := range repeats {
		add(c.seconds(m, l, at, c.seed(purpose).Index(at.budget).Index(r)))
	}
}

// seed is the branch of the seed tree of a profile's simulations.
func (f *fact) seed(purpose string) seed.Seed {
	return seed.Root(0).Child("fit").Child(purpose).Child(f.Benchmark).Child(f.Model)
}

// cost is the FLOPs of an answer of a profile.
func (f *fact) cost(tokens float64) float64 {
	a, p := f.architecture, float64(f.prompt)
	q := p + tokens
	answer := 2*float64(a.ThetaCore+a.ThetaHead)*tokens + 2*float64(a.FullAttentionLayers)*float64(a.AttentionWidth)*(q*(q+1)-p*(p+1))
	return a.Request(f.prompt, 0) + answer
}

// A model that does not think repeats itself now and then until its answer is
// cut. One such answer is worth as many FLOPs as a hundred others and takes
// longer than most runs: FLOPs and times tell, of most runs, how many it had.

// loopPrior is the prior of the logarithm of the probability to loop.
var loopPrior = normal{math.Log(3e-5), 3}

// findLoops estimates the probability of looping and the FLOPs of the other answers from the
// FLOPs of Uniform's runs, where each time shows whether there was a loop, and then the
// number of loops in each run. Bulk is how long each run takes without loops.
func (c *cell) findLoops(bulk []float64) {
	least := math.Inf(1)
	for _, r := range c.uniform {
		least = math.Min(least, r.flops/float64(c.N()*r.budget))
	}
	prompt := c.cost(0)
	best := math.Inf(-1)
	for logLoop := math.Log(1e-6); logLoop < math.Log(0.05); logLoop += 0.15 {
		for k := -60; k <= 12; k++ {
			body := least * math.Exp(0.01*float64(k))
			if body <= prompt {
				continue
			}
			d := (logLoop - loopPrior.mean) / loopPrior.deviation
			likelihood := -d * d / 2
			for i, r := range c.uniform {
				likelihood += c.loopsOf(r, bulk[i], math.Exp(logLoop), body).logLikelihood
			}
			if likelihood > best {
				best, c.loop, c.target = likelihood, math.Exp(logLoop), body
			}
		}
	}
	c.loops = make([]posterior, len(c.uniform))
	for i, r := range c.uniform {
		c.loops[i] = c.loopsOf(r, bulk[i], c.loop, c.target)
	}
}

// posterior is of the number of answers that looped, given a run's FLOPs and time.
type posterior struct{ logLikelihood, mean, none float64 }

// count is the likely number of loops.
func (p posterior) count() int {
	loops := int(math.Round(p.mean))
	if p.none < 0.5 {
		return max(1, loops)
	}
	return loops
}

// sure reports whether it is known that there are loops, or that there are none.
func (p posterior) sure() bool { return p.none < 0.03 || p.none > 0.97 }

// loopsOf is the number of loops in a run whose answers loop with a given
// probability and otherwise cost body FLOPs on average.
func (c *cell) loopsOf(r uniform, bulk, loop, body float64) posterior {
	rollouts := float64(c.N() * r.budget)
	expected := rollouts * loop
	longest := c.cost(float64(c.model.MaxTokens))
	deviation := math.Sqrt(rollouts)*(0.5*(body-c.cost(0))+0.02*body) + 0.003*rollouts*body
	alone := float64(c.model.MaxTokens) * c.model.Timing.Base.Seconds() // a loop takes longer than this
	can := func(loops int) bool {
		switch {
		case loops > 0:
			return r.seconds > 0.95*alone
		case r.seconds > 0.95*alone:
			return r.seconds < 1.2*bulk
		}
		return true
	}
	var terms []float64
	top := math.Inf(-1)
	logPoisson := -expected
	for k := 0; float64(k) <= expected+6*math.Sqrt(expected)+6; k++ {
		if k > 0 {
			logPoisson += math.Log(expected / float64(k))
		}
		term := math.Inf(-1)
		if can(k) {
			z := (r.flops - (rollouts-float64(k))*body - float64(k)*longest) / deviation
			term = logPoisson - z*z/2 - math.Log(deviation)
		}
		terms, top = append(terms, term), math.Max(top, term)
	}
	if math.IsInf(top, -1) { // neither way: believe neither
		return posterior{-1e3, expected, 0.5}
	}
	total, mean := 0.0, 0.0
	for k, term := range terms {
		w := math.Exp(term - top)
		total, mean = total+w, mean+w*float64(k)
	}
	return posterior{top + math.Log(total), mean / total, math.Exp(terms[0]-top) / total}
}

// cell is a profile while its model is fitted.
type cell struct {
	*fact
	model   *fleet.Model // as it is believed to be now
	lengths fleet.Lengths

	target float64     // mean FLOPs of an answer that does not loop
	pace   float64     // logarithm
	loop   float64     // probability that an answer loops; 0 for thinking models
	loops  []posterior // of each run of Uniform

	deviations []float64 // by which a run's logarithm of time is off by chance
}

// reference is the budget at which long runs are simulated: what comes after is
// a matter of throughput.
const reference = 16

// longest is the largest budget of a thinking model that the fit simulates.
const longest = 24

// residuals are, for every run of Uniform, the logarithm of its time over the simulated
// one's, less the profile's pace, then the residual of the mean FLOPs, by budget the
// residual of HBN's useful FLOPs relative to Uniform's, and last the pace.
func (c *cell) residuals(m fleet.Model, l fleet.Lengths, draws int) []float64 {
	known := map[load]float64{}
	simulate := func(at load) float64 {
		if v, ok := known[at]; ok {
			return v
		}
		repeats := max(1, (draws+at.budget/2)/at.budget)
		sum := 0.0
		c.repeat(m, l, at, "residuals", repeats, func(s float64) { sum += math.Log(s) })
		known[at] = sum / float64(repeats)
		return known[at]
	}
	more := c.work(m, l) * float64(c.N()) / replicas
	r := make([]float64, len(c.uniform))
	for i, run := range c.uniform {
		at := load{budget: run.budget}
		beyond := 0
		if m.ThinkingTokens == 0 {
			at.loops = c.loops[i].count()
		} else if run.budget > longest {
			at.budget, beyond = reference, run.budget-reference
		}
		v := simulate(at)
		if beyond > 0 {
			v = math.Log(math.Exp(v) + float64(beyond)*more)
		}
		r[i] = math.Log(run.seconds) - v
	}
	pace := c.takePace(r)
	means := c.means(l)
	r = append(append(r, math.Log(c.target/average(means))), c.gaps(means)...)
	return append(r, pace)
}

// takePace takes from the logarithms of times what all runs of the profile have in common,
// as far as the prior of the pace allows. A profile's prompts, and the other costs of its
// requests by the token, are known roughly: a percent or two of all its times. Without a
// pace the lengths would have to answer for it, and with them the wait for the last answers,
// which times at small budgets show much better.
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
func (c *cell) work(m fleet.Model, l fleet.Lengths) float64 {
	law := fleet.NewLaw(m, l, c.Profile)
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

// chance estimates how far times are off by chance, from repeats at the two smallest
// budgets: the drain's part does not grow with the budget, and the mean length's grows as
// its root. To this comes the error that no model of ours explains.
func (c *cell) chance(draws int) {
	const repeats = 10
	var deviation [2]float64 // seconds
	for k, budget := range budgets[:2] {
		sum, squares := 0.0, 0.0
		c.repeat(*c.model, c.lengths, load{budget: budget}, "chance", repeats, func(s float64) {
			sum, squares = sum+s, squares+s*s
		})
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
}

// flopsDeviation is how far off the mean FLOPs may be: they come out by the
// choice of the location, unless no location gives them.
const flopsDeviation = 0.003

// unexplained is the standard deviation that times have beyond chance.
const unexplained = 0.015

// paceDeviation is the standard deviation that all times of a profile have in
// common, beyond that.
const paceDeviation = 0.03

// usable reports whether the fit may use a residual.
func (c *cell) usable(i int) bool {
	return i >= len(c.uniform) || c.model.ThinkingTokens > 0 || c.loops[i].sure()
}
