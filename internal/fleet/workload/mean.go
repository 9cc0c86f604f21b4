package workload

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
)

// nodes of the quadrature over the standard normal number in a length's
// logarithm, between reach standard deviations on both sides.
const (
	nodes = 16
	reach = 4.5
)

// places and weights are Gauss and Legendre's on (−1, 1).
var places, weights = legendre()

func legendre() (x, w [nodes]float64) {
	quad.Legendre{}.FixedLocations(x[:], w[:], -1, 1)
	return x, w
}

// Mean is the expectation of f of the length of a task's answer, to about one
// part in a thousand for an f that is as smooth as a cost in FLOPs.
func (l *Law) Mean(task int, f func(tokens float64) float64) float64 {
	t := &l.tasks[task]
	limit := float64(l.limit)
	bound := limit
	if l.budget > 0 {
		bound = float64(l.budget)
	}
	high := (math.Log(bound) - t.center) / l.spread
	within := 0.5 * math.Erfc(-high/math.Sqrt2) // probability of a body that ends by itself
	mean := (1 - within) * f(limit)
	if l.budget > 0 {
		mean = (1 - within) * (l.endless*f(limit) + (1-l.endless)*f(bound+l.closing))
	}
	if high > -reach {
		half := (math.Min(high, reach) + reach) / 2
		sum, mass := 0.0, 0.0
		for i, x := range places {
			z := half*(1+x) - reach
			density := math.Exp(-z*z/2) * weights[i]
			mass += density
			sum += density * f(math.Exp(t.center+l.spread*z)+l.closing)
		}
		mean += within * sum / mass
	}
	return t.loop*f(limit) + (1-t.loop)*mean
}
