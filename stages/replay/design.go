package replay

import (
	"math"

	"speceval/internal/variance"
	"speceval/method/neyman"
)

// designs turns the continuation coefficients C of every candidate, estimated
// in independent replicates ([candidate][replicate]), into designs: the mean
// coefficient gives the optimal weight and the risk in closed form (paper,
// Eqs. 12, 19 and 21), and the least risk at each budget is selected, ties
// going to the smaller pilot. Standard errors come from the spread over
// replicates, propagated to first order; they are NaN for a single replicate.
func designs(policy string, tasks int, alpha *float64, cs candidates, coefficients [][]float64) []variance.Design {
	rows := make([]variance.Design, len(cs))
	slopes := make([]float64, len(cs)) // of the risk in C
	best := map[int]int{}
	for k, c := range cs {
		mean, spread := meanAndError(coefficients[k])
		w := neyman.Weight(c.m, mean)
		slopes[k] = float64(c.budget) * (1 - w) * (1 - w)
		rows[k] = variance.Design{
			Policy: policy, NTasks: int32(tasks), Budget: int32(c.budget), Alpha: alpha,
			M: int32(c.m), W: w,
			Risk:   neyman.Risk(c.budget, c.m, w, mean),
			RiskSE: slopes[k] * spread,
		}
		if at, ok := best[c.budget]; !ok || rows[k].Risk < rows[at].Risk {
			best[c.budget] = k
		}
	}
	for k, c := range cs {
		at := best[c.budget]
		rows[k].Selected = k == at
		rows[k].Gap = rows[k].Risk - rows[at].Risk
		differences := make([]float64, len(coefficients[k]))
		for r := range differences {
			differences[r] = slopes[k]*coefficients[k][r] - slopes[at]*coefficients[at][r]
		}
		_, rows[k].GapSE = meanAndError(differences)
	}
	return rows
}

// meanAndError returns the mean of some independent estimates and its standard
// error, NaN if there is only one.
func meanAndError(xs []float64) (mean, se float64) {
	n := float64(len(xs))
	mean = total(xs) / n
	squares := 0.0
	for _, x := range xs {
		squares += (x - mean) * (x - mean)
	}
	if len(xs) < 2 {
		return mean, math.NaN()
	}
	return mean, math.Sqrt(squares / (n - 1) / n)
}
