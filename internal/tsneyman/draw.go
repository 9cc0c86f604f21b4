package tsneyman

import (
	"math"

	"speceval/internal/seed"
)

// logVariance draws p from Beta(a, b) and returns log p(1−p). It works with
// logarithms, so that a tiny a or b cannot round p to an end.
func logVariance(a, b float64, random *seed.Stream) float64 {
	x, y := logGamma(a, random), logGamma(b, random)
	most, least := max(x, y), min(x, y)
	return least - most - 2*math.Log1p(math.Exp(least-most))
}

// logGamma draws from Gamma(shape, 1) and returns the logarithm (Marsaglia and
// Tsang, A simple method for generating gamma variables, 2000). Below shape 1 it
// draws at shape+1 and scales by a uniform number to the power 1/shape.
func logGamma(shape float64, random *seed.Stream) float64 {
	boost := 0.0
	if shape < 1 {
		boost = math.Log(1-random.Float64()) / shape
		shape++
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := normal(random)
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-random.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return math.Log(d*v) + boost
		}
	}
}

// normal draws from the standard normal law by the polar method.
func normal(random *seed.Stream) float64 {
	for {
		x, y := 2*random.Float64()-1, 2*random.Float64()-1
		if s := x*x + y*y; s < 1 && s > 0 {
			return x * math.Sqrt(-2*math.Log(s)/s)
		}
	}
}
