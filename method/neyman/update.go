package neyman

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Update is the prior after rollouts of which every task may have its own
// number: Eq. 13 of the paper, with all that is known of a task in the place of
// its pilot. It holds whatever decided on the numbers, as long as that knew no
// more of the tasks than these rollouts. Posterior and Partial give the same, for
// the many updates of a replay or of a run.
type Update struct {
	prior     *Prior
	observed  []int
	successes []float64 // sums of rewards, where these are graded
	weights   []float64 // of the nodes; their sum is 1
}

// Update returns the update by observed[i] rollouts of task i, of which
// successes[i] passed. It is an error if there are no tasks, or if these are not
// counts.
func (p *Prior) Update(observed, successes []int) (*Update, error) {
	rewards := make([]float64, len(successes))
	for i, s := range successes {
		rewards[i] = float64(s)
	}
	return p.UpdateGraded(observed, rewards)
}

// UpdateGraded is Update for rewards between 0 and 1, by the sum of each task's. A
// reward r counts as r of a success and 1 − r of a failure: the likelihood is
// Π p^r·(1−p)^(1−r), which has its maximum at the mean reward and is Update's where
// all are 0 or 1. It is an error if a sum is not between 0 and the number of rollouts.
func (p *Prior) UpdateGraded(observed []int, rewards []float64) (*Update, error) {
	if len(observed) == 0 || len(observed) != len(rewards) {
		return nil, fmt.Errorf("rollouts of %d tasks, successes of %d: want one of each for every task", len(observed), len(rewards))
	}
	passed, failed, all := tally{}, tally{}, tally{}
	for i, n := range observed {
		s := rewards[i]
		if !(s >= 0 && s <= float64(n)) {
			return nil, fmt.Errorf("task %d has %v successes of %d rollouts", i, s, n)
		}
		passed[s]++
		failed[float64(n)-s]++
		all[float64(n)]++
	}
	u := &Update{prior: p, observed: observed, successes: rewards, weights: slices.Clone(p.log)}
	passed.add(u.weights, p.a, 1)
	failed.add(u.weights, p.b, 1)
	kappa := make([]float64, len(p.a))
	floats.AddTo(kappa, p.a, p.b)
	all.add(u.weights, kappa, -1)
	top := largest(u.weights)
	for k, l := range u.weights {
		u.weights[k] = math.Exp(l - top)
	}
	floats.Scale(1/floats.Sum(u.weights), u.weights)
	return u, nil
}

// tally counts tasks by a number of rollouts, or by a sum of rewards.
type tally map[float64]float64

// add adds to each sum, sign times, the logs of the rising factorials of all tasks, n
// being the task's number.
func (t tally) add(sums, xs []float64, sign float64) {
	for _, n := range slices.Sorted(maps.Keys(t)) {
		times := sign * t[n]
		for k, x := range xs {
			sums[k] += times * logRising(x, n)
		}
	}
}

// fewFactors is a number of factors that are multiplied sooner than looked up in
// the gamma function, and whose product cannot overflow.
const fewFactors = 16

// logRising is log[Γ(x+n)/Γ(x)], for a whole n that of x(x+1)…(x+n−1).
func logRising(x, n float64) float64 {
	if n > fewFactors || n != math.Trunc(n) {
		to, _ := math.Lgamma(x + n)
		from, _ := math.Lgamma(x)
		return to - from
	}
	product := 1.0
	for i := range int(n) {
		product *= x + float64(i)
	}
	return math.Log(product)
}

// Moments are the posterior expectations of a task's p and p(1−p).
func (u *Update) Moments(task int) (mean, variance float64) {
	n, s := float64(u.observed[task]), u.successes[task]
	for k, weight := range u.weights {
		a, b := u.prior.a[k]+s, u.prior.b[k]+n-s
		mean += weight * a / (a + b)
		variance += weight * a * b / ((a + b) * (a + b + 1))
	}
	return mean, variance
}

// Mixture is the joint posterior of all tasks.
func (u *Update) Mixture() Mixture {
	return Mixture{len(u.observed), u.weights, func(node, task int) (a, b float64) {
		s := u.successes[task]
		return u.prior.a[node] + s, u.prior.b[node] + (float64(u.observed[task]) - s)
	}}
}
