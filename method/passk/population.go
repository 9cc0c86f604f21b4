package passk

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// population is a law of p over tasks, as the tasks themselves suggest it: weights of
// fixed values.
type population struct {
	values, weights []float64
	passes, fails   []float64 // logs of the values, and of 1 less these
}

const (
	populationValues = 41 // from 0 to 1, closer to one another towards these
	populationRounds = 60 // of the EM algorithm, from weights that are alike
)

// class is tasks with the same numbers of rollouts and passes.
type class struct{ rollouts, passes int }

func compareClasses(a, b class) int {
	return cmp.Or(cmp.Compare(a.rollouts, b.rollouts), cmp.Compare(a.passes, b.passes))
}

// newPopulation is the law under which what was seen of the tasks is most likely, as far
// as some rounds of the EM algorithm go (Laird, JASA 73, 1978).
func newPopulation(tasks []class) population {
	counts := map[class]float64{}
	for _, c := range tasks {
		counts[c]++
	}
	kinds := slices.SortedFunc(maps.Keys(counts), compareClasses)
	var p population
	for k := range populationValues {
		root := math.Sin(math.Pi / 2 * float64(k) / (populationValues - 1))
		x := root * root
		p.values, p.weights = append(p.values, x), append(p.weights, 1.0/populationValues)
		p.passes, p.fails = append(p.passes, math.Log(x)), append(p.fails, math.Log(1-x))
	}
	next := make([]float64, populationValues)
	for range populationRounds {
		clear(next)
		for _, c := range kinds {
			for k, x := range p.posterior(c) {
				next[k] += counts[c] * x
			}
		}
		for k, x := range next {
			p.weights[k] = x / float64(len(tasks))
		}
	}
	return p
}

// posterior is the weights of the values for a task.
func (p population) posterior(c class) []float64 {
	posterior := make([]float64, len(p.values))
	top := math.Inf(-1)
	for k, weight := range p.weights {
		l := math.Log(weight)
		if c.passes > 0 {
			l += float64(c.passes) * p.passes[k]
		}
		if failed := c.rollouts - c.passes; failed > 0 {
			l += float64(failed) * p.fails[k]
		}
		posterior[k], top = l, max(top, l)
	}
	sum := 0.0
	for k, l := range posterior {
		posterior[k] = math.Exp(l - top)
		sum += posterior[k]
	}
	for k := range posterior {
		posterior[k] /= sum
	}
	return posterior
}

// expect is the expectation of a polynomial of a task's p.
func (p population) expect(v polynomial, c class) float64 {
	sum := 0.0
	for k, weight := range p.posterior(c) {
		if weight > 0 {
			sum += weight * max(0, v.at(p.values[k]))
		}
	}
	return sum
}
