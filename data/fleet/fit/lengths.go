package main

import (
	"math"

	"speceval/internal/fleet/workload"
)

// normal is a number that is believed to be about mean, within so many standard
// deviations.
type normal struct{ mean, deviation float64 }

// How lengths are believed to rise with difficulty, before a profile's own runs
// say otherwise. HBN's selection prefers noisy tasks; what it costs beside
// Uniform is one number, roughly, for two slopes.
var (
	hardPrior  = normal{1.2, 1}
	noisyPrior = normal{0.3, 0.8}
)

// spreadOfCosts is the standard deviation of a rollout's FLOPs over their mean,
// roughly.
const spreadOfCosts = 0.7

// means are the mean FLOPs of each task's answers.
func (c *cell) means(l workload.Lengths) []float64 {
	law := workload.NewLaw(*c.model, l, c.Profile)
	means := make([]float64, c.N())
	for i := range means {
		means[i] = law.Mean(i, c.cost)
	}
	return means
}

// locate sets the location so that Uniform's mean FLOPs per rollout come out.
func (c *cell) locate(l *workload.Lengths) {
	l.Location = increasing(l.Location, 0, 13, func(x float64) float64 {
		l.Location = x
		return math.Log(average(c.means(*l)) / c.target)
	})
}

// increasing is a zero of an increasing function, sought from x.
func increasing(x, low, high float64, f func(float64) float64) float64 {
	if x <= low || x >= high {
		x = (low + high) / 2
	}
	slope, last, lastX := 1.0, 0.0, 0.0
	for k := range 60 {
		y := f(x)
		if math.Abs(y) < 1e-4 || high-low < 1e-9 {
			break
		}
		if y > 0 {
			high = x
		} else {
			low = x
		}
		if k > 0 && (y-last)/(x-lastX) > 0.01 {
			slope = (y - last) / (x - lastX)
		}
		last, lastX = y, x
		if x -= y / slope; x <= low || x >= high || k > 12 {
			x = (low + high) / 2
		}
	}
	return x
}

// gaps are, by budget, the logarithm of HBN's useful FLOPs per rollout over
// Uniform's, less what the mean FLOPs of tasks make of HBN's selection.
func (c *cell) gaps(means []float64) []float64 {
	gaps := make([]float64, len(budgets))
	for k, b := range budgets {
		selected := 0.0
		for i, count := range c.selected[b] {
			selected += float64(count) * means[i]
		}
		published, runs := 0.0, 0.0
		for _, r := range c.adaptive {
			if r.budget == b {
				published += r.flops
				runs++
			}
		}
		rollouts := float64(c.N() * b)
		published = published/runs/rollouts - c.loop*(c.cost(float64(c.model.MaxTokens))-c.target)
		gaps[k] = math.Log(math.Max(published/c.target, 0.3)) - math.Log(selected/rollouts/average(means))
	}
	return gaps
}

// gapDeviations are the standard deviations of gaps by chance.
func (c *cell) gapDeviations() []float64 {
	d := make([]float64, len(budgets))
	all := 0.0
	for _, r := range c.uniform {
		all += float64(c.N() * r.budget)
	}
	loops := c.loop * math.Pow(c.cost(float64(c.model.MaxTokens))/c.target, 2)
	for k, b := range budgets {
		two := float64(2 * c.N() * b) // HBN's two runs
		d[k] = math.Sqrt((spreadOfCosts*spreadOfCosts+loops)*(1/two+1/all) + 0.003*0.003)
	}
	return d
}

func clamp(x, most float64) float64 { return math.Max(-most, math.Min(most, x)) }

func average(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}
