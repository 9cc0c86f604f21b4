package neyman

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
)

// LeaveOneOut is the best weight of a task's pilot given the pilots of all other
// tasks. A weight that is fixed beforehand has to suit all panels of tasks that the
// prior expects; what the others' pilots say of this one it does not know. The task's
// own pilot must stay out of it, or the estimate is biased.
//
// A LeaveOneOut is for one goroutine at a time.
type LeaveOneOut struct {
	pilots, tasks, total int

	posterior *Posterior
	likely    [][]float64 // [S][node]: the likelihood of S successes
	work      *Work
	updated   []float64 // weights of the nodes after the own pilot
}

// NewLeaveOneOut prepares for evaluations of the tasks with an average budget of rollouts
// per task, pilots of them in the pilot. It is an error if the pilot leaves nothing of the
// budget, or is empty.
func NewLeaveOneOut(prior *Prior, tasks, budget, pilots int) (*LeaveOneOut, error) {
	if tasks < 1 || pilots < 1 || pilots >= budget {
		return nil, fmt.Errorf("leave-one-out weights of %d tasks after %d of %d rollouts: want at least 1 task, and a pilot of 1 to %d", tasks, pilots, budget, budget-1)
	}
	l := &LeaveOneOut{
		pilots: pilots, tasks: tasks, total: tasks * (budget - pilots),
		posterior: prior.Pilot(pilots), work: prior.NewWork(), updated: make([]float64, len(prior.a)),
	}
	ways := 1.0
	for s, row := range l.posterior.marginal {
		likely := make([]float64, len(row))
		for k, marginal := range row {
			likely[k] = ways * math.Exp(marginal)
		}
		l.likely = append(l.likely, likely)
		ways *= float64(pilots-s) / float64(s+1)
	}
	return l, nil
}

// Weight is the weight of a task's pilot by the other tasks' pilots. others[S] of them have
// S successes, S = 0, …, m:
//
//	w = C/(1/m + C),  C = E[v/L | others]/E[v | others],  v = p(1−p),
//
// which minimizes the task's expected addition to the variance, E[v·(w²/m + (1−w)²/L)] (Eqs.
// 9 and 12 of the paper, given the others). The expectation is over the task's own pilot, by
// the prior that the others have updated. L is the number of rollouts that HBN would then
// give it but for rounding, and no less than one. Weight is NaN if others do not hold the
// pilots of all tasks but one.
func (l *LeaveOneOut) Weight(others []int) float64 {
	known := 0
	for _, n := range others {
		known += n
	}
	if len(others) != l.pilots+1 || known != l.tasks-1 {
		return math.NaN()
	}
	l.work.Restart()
	given := l.posterior.Scores(others, l.work)
	roots := 0.0
	for s, n := range others {
		if n != 0 {
			roots += float64(n) * math.Sqrt(given.At(s))
		}
	}
	l.work.Narrow(l.posterior.prior, negligibleHere)
	part, all := 0.0, 0.0
	for own := range others {
		score, chance := l.update(own)
		root := math.Sqrt(score)
		continuation := max(1, float64(l.total)*root/(roots+root))
		all += chance * score
		part += chance * score / continuation
	}
	return Weight(l.pilots, part/all)
}

// negligibleHere is how far in log weight nodes may lie below the largest that make no
// difference to a weight that is any function of the others.
const negligibleHere = 20

// update is the score of the task after a number of own successes, and how likely that
// number is, up to a common factor.
func (l *LeaveOneOut) update(own int) (score, chance float64) {
	lo, hi := l.work.lo, l.work.hi
	updated, moments := l.updated[lo:hi], &l.posterior.moments
	floats.MulTo(updated, l.work.weights[lo:hi], l.likely[own][lo:hi])
	chance = floats.Sum(updated)
	scores := Scores{
		floats.Dot(updated, moments[0][lo:hi]), floats.Dot(updated, moments[1][lo:hi]), floats.Dot(updated, moments[2][lo:hi]),
	}
	return scores.At(own) / chance, chance
}
