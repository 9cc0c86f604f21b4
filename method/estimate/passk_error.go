package estimate

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// polynomial is the coefficients of p^0, p^1 and so on.
type polynomial []float64

// addVariance adds the variance that a stage of n rollouts adds to the estimate, as a function of
// p: Var[Σ a·U_i·p^d] over the parts that take i and leave d, with the mean Σ A_r·p^r.
func (v polynomial) addVariance(parts []part, ahead []float64, n int) {
	for _, x := range parts {
		for _, y := range parts {
			low := max(0, x.taken+y.taken-n)
			for c, chance := range overlaps(x.taken, y.taken, n, low) {
				v[x.left+y.left+x.taken+y.taken-low-c] += x.weight * y.weight * chance
			}
		}
	}
	for r, a := range ahead {
		for s, b := range ahead {
			v[r+s] -= a * b
		}
	}
}

// overlaps is the chances that a set of i and a set of j of n rollouts have c in common,
// from c = low, the least that they can.
func overlaps(i, j, n, low int) []float64 {
	chances := make([]float64, min(i, j)-low+1)
	chance, sum := 1.0, 0.0
	for k := range chances {
		chances[k] = chance
		sum += chance
		c := low + k
		chance *= float64(i-c) * float64(j-c) / (float64(c+1) * float64(n-i-j+c+1))
	}
	for k := range chances {
		chances[k] /= sum
	}
	return chances
}

// expect is the expectation of the polynomial by the expectations of the powers of p.
func (v polynomial) expect(powers []float64) float64 {
	sum := 0.0
	for d, coefficient := range v {
		sum += coefficient * powers[d]
	}
	return sum
}

// at is the polynomial's value.
func (v polynomial) at(p float64) float64 {
	sum := 0.0
	for d := len(v) - 1; d >= 0; d-- {
		sum = sum*p + v[d]
	}
	return sum
}

// population is a law of p over tasks, as the tasks themselves suggest it: weights of
// fixed values.
type population struct {
	values, weights []float64
	likelihoods     map[class][]float64 // of a class at the values, relative to the largest
}

const (
	populationValues = 41 // from 0 to 1, closer to one another towards these
	populationRounds = 60 // of the EM algorithm, from weights that are alike
)

// class is tasks with the same numbers of rollouts and passes.
type class struct{ rollouts, passes int }

// newPopulation is the law under which what was seen of the tasks is most likely, as far
// as some rounds of the EM algorithm go (Laird, JASA 73, 1978).
func newPopulation(tasks []class) population {
	p := population{likelihoods: map[class][]float64{}}
	for k := range populationValues {
		root := math.Sin(math.Pi / 2 * float64(k) / (populationValues - 1))
		p.values, p.weights = append(p.values, root*root), append(p.weights, 1.0/populationValues)
	}
	counts := map[class]float64{}
	for _, c := range tasks {
		counts[c]++
	}
	kinds := slices.SortedFunc(maps.Keys(counts), func(a, b class) int {
		return cmp.Or(cmp.Compare(a.rollouts, b.rollouts), cmp.Compare(a.passes, b.passes))
	})
	for _, c := range kinds {
		p.likelihoods[c] = p.likelihood(c)
	}
	next, posterior := make([]float64, populationValues), make([]float64, populationValues)
	for range populationRounds {
		clear(next)
		for _, c := range kinds {
			p.posterior(c, posterior)
			floats.AddScaled(next, counts[c]/float64(len(tasks)), posterior)
		}
		copy(p.weights, next)
	}
	return p
}

// likelihood is the likelihood of a class at the values, relative to the largest.
func (p population) likelihood(c class) []float64 {
	all := make([]float64, len(p.values))
	for k, x := range p.values {
		if c.passes > 0 {
			all[k] += float64(c.passes) * math.Log(x)
		}
		if failed := c.rollouts - c.passes; failed > 0 {
			all[k] += float64(failed) * math.Log(1-x)
		}
	}
	top := floats.Max(all)
	for k, l := range all {
		all[k] = math.Exp(l - top)
	}
	return all
}

// posterior sets the weights of the values for a task.
func (p population) posterior(c class, weights []float64) {
	floats.MulTo(weights, p.weights, p.likelihoods[c])
	floats.Scale(1/floats.Sum(weights), weights)
}

// expect is the expectation of a polynomial of a task's p.
func (p population) expect(v polynomial, c class) float64 {
	sum, posterior := 0.0, make([]float64, len(p.values))
	p.posterior(c, posterior)
	for k, weight := range posterior {
		if weight > 0 {
			sum += weight * max(0, v.at(p.values[k]))
		}
	}
	return sum
}
