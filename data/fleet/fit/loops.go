package main

import "math"

// A model that does not think repeats itself now and then until its answer is
// cut. One such answer is worth as many FLOPs as a hundred others and takes
// longer than most runs: FLOPs and times tell, of most runs, how many it had.

// loopPrior is what the logarithm of the probability to loop is believed to be.
var loopPrior = normal{math.Log(3e-5), 3}

// findLoops estimates the probability of looping and the FLOPs of the other
// answers from the FLOPs of Uniform's runs, of which each time says whether
// there was a loop, and then the number of loops in each run. Bulk is how long
// each run takes without loops.
func (c *cell) findLoops(bulk []float64) {
	least := math.Inf(1)
	for _, r := range c.uniform {
		if !c.held(r) {
			least = math.Min(least, r.flops/float64(c.N()*r.budget))
		}
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
				if !c.held(r) {
					likelihood += c.loopsOf(r, bulk[i], math.Exp(logLoop), body).logLikelihood
				}
			}
			if likelihood > best {
				best, c.loop, c.target = likelihood, math.Exp(logLoop), body
			}
		}
	}
	c.loops = make([]loops, len(c.uniform))
	for i, r := range c.uniform {
		p := c.loopsOf(r, bulk[i], c.loop, c.target)
		c.loops[i] = loops{p.mean, p.none < 0.03 || p.none > 0.97}
		if p.none < 0.5 {
			c.loops[i].count = math.Max(1, p.mean)
		}
	}
}

// posterior is the number of loops in a run.
type posterior struct{ logLikelihood, mean, none float64 }

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
