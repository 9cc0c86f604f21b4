package staged

import (
	"fmt"
	"slices"

	"speceval/method/neyman"
)

// Ahead is what comes after a stage: the tasks that have weight left, and the
// rollouts to divide among them. One goroutine at a time may use it. It is made by
// Stages.Ahead.
type Ahead struct {
	open   []int     // tasks with weight left, ascending
	rest   []float64 // the weight, of all tasks
	left   int       // rollouts
	shares []float64 // of the tasks in the mean; nil where all are alike

	scores    []float64
	allocator neyman.Allocator
}

func (a *Ahead) clone() *Ahead {
	return &Ahead{
		open: slices.Clone(a.open), rest: slices.Clone(a.rest), left: a.left,
		shares: a.shares,
		scores: make([]float64, len(a.rest)), allocator: neyman.Allocator{Least: a.allocator.Least, Most: a.allocator.Most},
	}
}

// Divide writes into shares how the rollouts are divided by the scores of all tasks,
// E[p(1−p)]: in proportion to the roots of R²·score, exactly and in whole rollouts,
// with at least Plan.Least for each task that has weight left and none for the others, whose
// scores are not looked at (Eq. 8 of the paper, of which this is the case R = 1−w). Where
// tasks have shares in the mean, R is multiplied by them.
//
// It is an error if there are not as many scores and shares as tasks, if a score is
// negative or not finite, and if nothing is left.
func (a *Ahead) Divide(scores []float64, shares []int) error {
	if len(scores) != len(a.rest) || len(shares) != len(a.rest) {
		return fmt.Errorf("staged: scores of %d tasks and shares of %d, want %d", len(scores), len(shares), len(a.rest))
	}
	if len(a.open) == 0 {
		return ErrOrder
	}
	most := 0.0
	for _, i := range a.open {
		most = max(most, a.rest[i])
	}
	own := a.scores[:len(a.open)]
	for k, i := range a.open {
		own[k] = scores[i]
		if r := a.rest[i]; r != most { // not where all have as much left, so that ties stay ties
			own[k] *= (r / most) * (r / most)
		}
		if a.shares != nil {
			own[k] *= a.shares[i] * a.shares[i]
		}
	}
	divided, err := a.allocator.Allocate(own, a.left)
	if err != nil {
		return fmt.Errorf("staged: %w", err)
	}
	clear(shares)
	for k, i := range a.open {
		shares[i] = divided[k]
	}
	return nil
}

// close takes out the tasks that have executed all of their shares.
func (a *Ahead) close(sizes, shares []int) {
	a.open = slices.DeleteFunc(a.open, func(i int) bool { return sizes[i] == shares[i] })
}
