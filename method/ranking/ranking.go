// Package ranking finds where rollouts decide which of several models is the best, or in which
// order they are.
//
// The models of a contest share one budget in stages. A contest is a [staged.Stages] whose
// tasks are the models and whose rollouts are rollouts per task: sizes and weights of a stage
// are known before it is seen, and the weights of a model add up to one, so that every mean is
// unbiased. Its Decide takes Scores.
//
// # Where rollouts decide
//
// Given what has been seen, the mean of a model is normal about its estimate. At the end of a
// plan for the rest, its estimate has some variance V, and as foreseen now it is normal about
// the present one. The final choice between two models can only change where their final
// estimates meet: with f the density of their foreseen difference at 0, the chance of a wrong
// choice grows with V_i+V_j by
//
//	f / √(2π(V_i+V_j)).
//
// (With M the mean and V the variance of the difference in the end, Φ(−|M|/√V) solves the heat
// equation but for its kink at M = 0, so that its expectation changes with V by the kink alone.)
// For the best of several models only meetings above all others count; for their order all do.
// The sum over a model's pairs is the weight λ of its variance. Rollouts that minimize Σ λ·V are
// in proportion to R·σ·√λ, where R is the weight that a model has left and σ² the variance of a
// rollout per task.
//
// With differences that are known this is the optimal computing budget allocation of Chen,
// Lin, Yücesan and Chick (Discrete Event Dynamic Systems 10, 2000); the expectation over what
// is not known yet keeps it from giving up a model after an unlucky pilot.
package ranking

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"speceval/method/staged"
)

// Goal is the question that a contest is to answer.
type Goal int

// The goals.
const (
	Best  Goal = iota // which model has the greatest mean
	Order             // in which order they are
)

// Plan is how models spend a budget of rollouts per task on average over them, from 4 on: a
// pilot of an eighth, and three more stages. It was found by simulated contests of published
// models; the chance of a wrong best hardly depends on it.
func Plan(budget int) staged.Plan {
	m := max(2, budget/8)
	return staged.Plan{Pilots: m, Weight: 0.4 * float64(m) / float64(budget), Fractions: []float64{0.4, 0.5, 1}}
}

// Paired is how two models spend a budget from 4 on in pairs of rollouts, as many of both: a pilot
// of a quarter, and two more stages. For simulated pairs of published models its variance is 1 to
// 5% below the one of the paper's two stages.
func Paired(budget int) staged.Plan {
	m := max(2, budget/4)
	return staged.Plan{Pilots: m, Weight: 0.75 * float64(m) / float64(budget), Fractions: []float64{0.4, 1}}
}

// Normal is the knowledge of a model's mean.
type Normal struct{ Mean, Variance float64 }

// Standing is a model at a barrier.
type Standing struct {
	Normal         // estimate so far, by the weights of its stages divided by their sum
	Spread float64 // σ², the variance of a mean by one further rollout per task on average
	Rest   float64 // R, the weight that later stages have; 0: finished
}

// Spread is σ² of a model with an estimate of the given variance, by its tasks: their shares in
// the mean (nil: alike), the variances v of their rollouts, and Σ c²/n over their stages. It is
// (Σ share·√v)²/N, in proportion to the variance that is stated: an estimate may know more of
// the rollouts than v, as where rewards are graded.
func Spread(variance float64, shares, variances, shrinkage []float64) float64 {
	share, n := 1/float64(len(variances)), float64(len(variances))
	root, stated := 0.0, 0.0
	for i, v := range variances {
		if shares != nil {
			share = shares[i]
		}
		root += share * math.Sqrt(v)
		stated += share * share * v * shrinkage[i]
	}
	if stated == 0 {
		return 0
	}
	return root * root / n * variance / stated
}

// rounds is how often Scores goes by the division that follows from its own scores.
const rounds = 6

// Scores are λ·σ² of each model, by which what is left, in rollouts per task of all models
// together, is to be divided. They are relative to the greatest of models with weight left.
func Scores(goal Goal, standings []Standing, left int) ([]float64, error) {
	open := 0.0
	for k, s := range standings {
		if !(s.Variance >= 0 && s.Spread >= 0 && s.Rest >= 0 && s.Rest <= 1) || math.IsInf(s.Variance+s.Spread, 0) || math.IsNaN(s.Mean) {
			return nil, fmt.Errorf("ranking: model %d stands at %+v", k, s)
		}
		if s.Rest > 0 {
			open++
		}
	}
	scores, shares := make([]float64, len(standings)), make([]float64, len(standings))
	for k := range shares {
		shares[k] = float64(left) / open
	}
	for range rounds {
		weigh(goal, standings, shares, scores)
		top, sum := 0.0, 0.0
		for k, s := range standings {
			if s.Rest > 0 {
				top = max(top, scores[k])
			}
		}
		if top == 0 { // no two can be expected to meet
			return slices.Repeat([]float64{1}, len(scores)), nil
		}
		for k, s := range standings {
			scores[k] /= top
			sum += s.Rest * math.Sqrt(scores[k])
		}
		for k, s := range standings { // half of the way, on a logarithmic scale
			shares[k] = math.Sqrt(shares[k] * max(1, float64(left)*s.Rest*math.Sqrt(scores[k])/sum))
		}
	}
	return scores, nil
}

// weigh sets λ·σ² under shares of what is left.
func weigh(goal Goal, standings []Standing, shares, scores []float64) {
	foreseen, finals := make([]Normal, len(standings)), make([]float64, len(standings))
	for k, s := range standings {
		scores[k], foreseen[k], finals[k] = 0, Normal{Mean: s.Mean}, (1-s.Rest)*(1-s.Rest)*s.Variance
		if s.Rest > 0 {
			foreseen[k].Variance = s.Rest * s.Rest * (s.Variance + s.Spread/shares[k])
			finals[k] += s.Rest * s.Rest * s.Spread / shares[k]
		}
	}
	for i := range standings {
		for k := range i {
			if density := meeting(goal, foreseen, i, k); density > 0 {
				worth := density / math.Sqrt(finals[i]+finals[k])
				scores[i] += worth * standings[i].Spread
				scores[k] += worth * standings[k].Spread
			}
		}
	}
}

// meeting is the density at 0 of the difference of two of the models, for the best where no
// other model is above them.
func meeting(goal Goal, of []Normal, i, k int) float64 {
	a, b := of[i], of[k]
	v, d := a.Variance+b.Variance, a.Mean-b.Mean
	if v == 0 {
		return 0
	}
	density := math.Exp(-d*d/(2*v)) / math.Sqrt(2*math.Pi*v)
	if goal == Order || density == 0 {
		return density
	}
	where := Normal{(a.Mean*b.Variance + b.Mean*a.Variance) / v, a.Variance * b.Variance / v}
	return density * where.above(of, fewSteps, i, k)
}

// above is the probability that none of the models but some is above a value of this law, by
// most steps of a sum at most.
func (n Normal) above(of []Normal, most int, but ...int) float64 {
	sd := math.Sqrt(n.Variance)
	least := sd
	for _, other := range of {
		least = min(least, math.Sqrt(other.Variance))
	}
	steps := 1
	if sd > 0 { // half the least standard deviation, by which a sum over normal laws is exact
		steps = int(min(4*reach*sd/least, float64(most)))
	}
	sum, weights := 0.0, 0.0
	for step := range steps {
		z := reach * ((2*float64(step)+1)/float64(steps) - 1)
		weight := math.Exp(-z * z / 2)
		weights += weight
		for k, other := range of {
			if !slices.Contains(but, k) {
				weight *= other.below(n.Mean + sd*z)
			}
		}
		sum += weight
	}
	return sum / weights
}

// reach is the number of standard deviations beyond which nothing lies. The steps of sums: few
// where their error of some percent makes no difference, as in scores.
const (
	reach     = 6
	fewSteps  = 48
	manySteps = 1 << 14
)

// below is the probability to be below x; half where it is x for certain.
func (n Normal) below(x float64) float64 {
	if n.Variance == 0 {
		return (1 + float64(cmp.Compare(x, n.Mean))) / 2
	}
	return math.Erfc((n.Mean-x)/math.Sqrt(2*n.Variance)) / 2
}

// Chances are the probabilities of the models to be the best.
func Chances(of []Normal) []float64 {
	chances, sum := make([]float64, len(of)), 0.0
	for k, n := range of {
		chances[k] = n.above(of, manySteps, k)
		sum += chances[k]
	}
	for k := range chances {
		chances[k] /= sum
	}
	return chances
}

// Wrong is the probability that the model with the greatest mean is not the best, or for the
// order the expected number of pairs that are not in the order of their means.
func Wrong(goal Goal, of []Normal) (wrong float64) {
	if goal == Best {
		best := 0
		for k, n := range of {
			if n.Mean > of[best].Mean {
				best = k
			}
		}
		return 1 - Chances(of)[best]
	}
	for i, a := range of {
		for _, b := range of[:i] {
			wrong += Normal{math.Abs(a.Mean - b.Mean), a.Variance + b.Variance}.below(0)
		}
	}
	return wrong
}

// Uniform is how many rollouts of every task each model would need to be as little Wrong, if
// the means are the ones that were found and single has the variances with one rollout of
// each. It is false where none follows: where two are equal, or nothing is in doubt.
func Uniform(goal Goal, of []Normal, single []float64) (rollouts float64, ok bool) {
	wrong := Wrong(goal, of)
	with := func(log float64) float64 {
		all := slices.Clone(of)
		for k := range all {
			all[k].Variance = single[k] / math.Exp(log)
		}
		return Wrong(goal, all)
	}
	low, high := 0.0, math.Log(mostRollouts)
	if !(wrong > leastWrong && with(low) > wrong && with(high) < wrong) {
		return 0, false
	}
	for range 40 {
		if middle := (low + high) / 2; with(middle) > wrong {
			low = middle
		} else {
			high = middle
		}
	}
	return math.Exp(low), true
}

// mostRollouts bounds what Uniform finds; below leastWrong nothing is in doubt, and the tails
// of normal laws are no longer to be trusted.
const (
	mostRollouts = 1e5
	leastWrong   = 1e-6
)
