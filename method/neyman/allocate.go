package neyman

import (
	"fmt"
	"math"
	"slices"
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
	var a Allocator
	return a.Allocate(scores, total)
}

// Allocator makes allocations one after the other in the memory that it has. The
// zero value is ready for use.
type Allocator struct {
	Least int // rollouts that every task gets whatever its score; 0: 1
	Most  int // rollouts that no task gets more of; 0: any number

	classes    Classes
	class      []int
	allocation []int

	below  []int     // tasks that have not come to Most
	scores []float64 // theirs
	capped []int     // the allocation of all tasks under Most
}

// Allocate is the function of that name, with at least Least and at most Most rollouts
// on each task. It is the exact optimum between these bounds: gains fall with every
// further rollout of a task, so that the greatest of them, from Least up, are the best to
// take. What it returns holds until the next call.
func (a *Allocator) Allocate(scores []float64, total int) ([]int, error) {
	allocation, err := a.unbounded(scores, total)
	if err != nil || a.Most == 0 || slices.Max(allocation) <= a.Most {
		return allocation, err
	}
	return a.bounded(scores, total)
}

// bounded is the allocation where Most is less than some task would get. A task that
// would get more gets Most, and the others divide the rest, which no task loses by: until
// none is above.
func (a *Allocator) bounded(scores []float64, total int) ([]int, error) {
	if max(1, a.Least) > a.Most || total > a.Most*len(scores) {
		return nil, fmt.Errorf("allocate %d rollouts to %d tasks: every task has at most %d", total, len(scores), a.Most)
	}
	a.capped, a.below = slices.Grow(a.capped[:0], len(scores))[:len(scores)], a.below[:0]
	for i := range scores {
		a.below = append(a.below, i)
	}
	for {
		a.scores = a.scores[:0]
		for _, i := range a.below {
			a.scores = append(a.scores, scores[i])
		}
		allocation, err := a.unbounded(a.scores, total)
		if err != nil {
			return nil, err
		}
		above, still := false, a.below[:0]
		for k, i := range a.below {
			a.capped[i] = min(allocation[k], a.Most)
			if allocation[k] > a.Most {
				above = true
				total -= a.Most
			} else {
				still = append(still, i)
			}
		}
		if a.below = still; !above {
			return a.capped, nil
		}
	}
}

// unbounded is the allocation with at least Least rollouts on each task.
func (a *Allocator) unbounded(scores []float64, total int) ([]int, error) {
	least := max(1, a.Least)
	if len(scores) == 0 || total/least < len(scores) {
		return nil, fmt.Errorf("allocate %d rollouts to %d tasks: every task needs at least %d", total, len(scores), least)
	}
	largest := 0.0
	for i, v := range scores {
		if !(v >= 0) || v > math.MaxFloat64 {
			return nil, fmt.Errorf("allocate: score %d is %v, want a finite number that is not negative", i, v)
		}
		largest = max(largest, v)
	}
	_, exponent := math.Frexp(largest)
	scale := math.Ldexp(1, -max(exponent, -1000))
	a.classes.Reset()
	a.classes.Least = least
	a.class, a.allocation = slices.Grow(a.class[:0], len(scores))[:len(scores)], slices.Grow(a.allocation[:0], len(scores))[:len(scores)]
	for i, v := range scores {
		a.class[i] = a.classes.Add(1, v*scale) // exact, so that ties stay ties
	}
	if a.classes.weight == 0 {
		a.evenly(total)
		return a.allocation, nil
	}
	gain, extra := a.classes.Settle(total)
	for i, c := range a.class {
		a.allocation[i] = least
		if c < 0 {
			continue
		}
		a.allocation[i] = a.classes.Units(c)
		if extra > 0 && a.classes.Gain(c) == gain {
			a.allocation[i]++
			extra--
		}
	}
	return a.allocation, nil
}

// evenly divides a total among the tasks, what is left over to the first.
func (a *Allocator) evenly(total int) {
	n := len(a.allocation)
	for i := range a.allocation {
		a.allocation[i] = total / n
		if i < total%n {
			a.allocation[i]++
		}
	}
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
