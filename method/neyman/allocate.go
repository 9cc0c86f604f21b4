package neyman

import (
	"fmt"
	"math"
)

// Allocate spends total rollouts on tasks with the given scores: at least one
// on each, the others where they reduce Σ v/L most, ties by task index. It is
// the exact integer Neyman allocation of Eq. 8 of the paper, and of Eq. 2 when
// the scores are the true variances. If every score is zero the allocation is
// uniform, as even as total allows.
//
// It is an error if total is less than the number of tasks, or if a score is
// negative or not finite.
func Allocate(scores []float64, total int) ([]int, error) {
	if total < len(scores) || len(scores) == 0 {
		return nil, fmt.Errorf("allocate %d rollouts to %d tasks: every task needs one", total, len(scores))
	}
	largest := 0.0
	for i, v := range scores {
		if v < 0 || math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("allocate: score %d is %v, want a finite number that is not negative", i, v)
		}
		largest = max(largest, v)
	}
	_, exponent := math.Frexp(largest)
	var classes Classes
	class := make([]int, len(scores))
	for i, v := range scores {
		class[i] = classes.Add(1, math.Ldexp(v, -exponent)) // exact, so that ties stay ties
	}
	allocation := make([]int, len(scores))
	if classes.weight == 0 {
		for i := range allocation {
			allocation[i] = total / len(scores)
			if i < total%len(scores) {
				allocation[i]++
			}
		}
		return allocation, nil
	}
	gain, extra := classes.Settle(total)
	for i, c := range class {
		allocation[i] = 1
		if c < 0 {
			continue
		}
		allocation[i] = classes.Units(c)
		if extra > 0 && classes.Gain(c) == gain {
			allocation[i]++
			extra--
		}
	}
	return allocation, nil
}

// VarianceRatio is the variance of the estimate under an allocation of N·b
// rollouts relative to Uniform's (paper, Eq. 1): b·Σ(v/n) / Σv.
func VarianceRatio(variances []float64, allocation []int, budget int) float64 {
	sum, all := 0.0, 0.0
	for i, v := range variances {
		sum += v / float64(allocation[i])
		all += v
	}
	return float64(budget) * sum / all
}

// Weight is the optimal stage weight of the pilot, w = C/(1/m + C), for a pilot
// of m rollouts per task and a continuation coefficient C: the continuation's
// expected Σ v/L over Σ v (paper, Eqs. 12, 19 and 21).
func Weight(m int, coefficient float64) float64 {
	return coefficient / (1/float64(m) + coefficient)
}

// Risk is the variance relative to Uniform of the two-stage estimator at budget
// b with pilot size m and stage weight w (paper, Eqs. 9, 11 and 18):
// b·{w²/m + (1−w)²·C}. At the optimal weight it is b·w/m.
func Risk(budget, m int, w, coefficient float64) float64 {
	return float64(budget) * (w*w/float64(m) + (1-w)*(1-w)*coefficient)
}
