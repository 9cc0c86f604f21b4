package exante

import (
	"math"

	"speceval/method/neyman"
)

// Rated is a candidate with its optimal stage weight and the risk that it has.
type Rated struct {
	Candidate
	Weight float64 // of the pilot
	Risk   float64 // relative to Uniform
	RiskSE float64 // Monte Carlo standard error of Risk

	Selected bool    // least risk at its budget
	Gap      float64 // Risk minus the selected candidate's
	GapSE    float64 // its Monte Carlo standard error, of the same replicates
}

// Rate turns the continuation coefficients C of every candidate, estimated in
// independent replicates ([candidate][replicate]), into ratings: the mean
// coefficient gives the optimal weight and the risk in closed form (paper,
// Eqs. 12, 19 and 21), and the least risk at each budget is selected, ties
// going to the smaller pilot. Standard errors come from the spread over
// replicates, propagated to first order; they are NaN for a single replicate.
func Rate(cs Candidates, coefficients [][]float64) []Rated {
	rated := make([]Rated, len(cs))
	slopes := make([]float64, len(cs)) // of the risk in C
	best := map[int]int{}
	for k, c := range cs {
		mean, spread := MeanAndError(coefficients[k])
		w := neyman.Weight(c.M, mean)
		slopes[k] = float64(c.Budget) * (1 - w) * (1 - w)
		rated[k] = Rated{
			Candidate: c, Weight: w,
			Risk:   neyman.Risk(c.Budget, c.M, w, mean),
			RiskSE: slopes[k] * spread,
		}
		if at, ok := best[c.Budget]; !ok || rated[k].Risk < rated[at].Risk {
			best[c.Budget] = k
		}
	}
	for k, c := range cs {
		at := best[c.Budget]
		rated[k].Selected = k == at
		rated[k].Gap = rated[k].Risk - rated[at].Risk
		differences := make([]float64, len(coefficients[k]))
		for r := range differences {
			differences[r] = slopes[k]*coefficients[k][r] - slopes[at]*coefficients[at][r]
		}
		_, rated[k].GapSE = MeanAndError(differences)
	}
	return rated
}

// MeanAndError returns the mean of some independent estimates and its standard
// error, NaN if there is only one.
func MeanAndError(xs []float64) (mean, se float64) {
	n := float64(len(xs))
	for _, x := range xs {
		mean += x
	}
	mean /= n
	if len(xs) < 2 {
		return mean, math.NaN()
	}
	squares := 0.0
	for _, x := range xs {
		squares += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(squares / (n - 1) / n)
}
