package estimate

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"speceval/method/neyman"
)

// Estimates of pass^k and pass@k come from evaluations in stages: the chance
// that k fresh rollouts of a task all pass, p^k, and that one of them does,
// 1 − (1−p)^k, as means over tasks.
//
// # One stage
//
// Where s of n rollouts passed, C(s,k)/C(n,k) is the share of all sets of k that passed
// whole: an unbiased estimate of p^k for n of at least k, whatever decided n before them.
// The plug-in (s/n)^k is not unbiased.
//
// # Several stages
//
// The k rollouts need not be of one stage: i of an earlier and k − i of a later one
// pass together with the chance p^i·p^(k−i). So the estimate goes through the stages
// with weights A_r on having r of the k rollouts still to come; at first A_k = 1. Before
// a stage of n rollouts is seen, it is decided with which shares q(i|r) it takes i of
// them, at most n; once seen, s of n,
//
//	A'_{r−i} += A_r · q(i|r) · C(s,i)/C(n,i)
//
// Given the past, E[C(s,i)/C(n,i)] = p^i, and therefore E[Σ A'_r·p^r] = Σ A_r·p^r: the
// expectation of the evaluation never changes, and is p^k from the first stage to the last,
// where it is A_0. The shares may depend on anything that was seen before, as the sizes do,
// and add up to one; nothing may be taken back later. So the open part must be certain to
// find its rollouts: a stage that is not a task's last leaves at most staged.Plan.Least of
// the k open, as many as the task is sure to have ahead. With a pilot of m rollouts this is
// possible where k is at most m + Least. A floor of k leaves all of it open. Under a lower
// one the pilot has to take more of the k than its part, and the freedom left to the
// allocation is not worth it: for pass^4 at b = 8 after a pilot of 3, the variance on the
// paper's profiles is 0.92 of Uniform's with a floor of 4, 1.06 with one of 2, and 2.1 with
// none.
//
// The shares are the hypergeometric law of choosing r of all rollouts that the task
// would have in the end, if the stage's weight in the mean were its part of them.
//
// # The error
//
// Stages of a task are uncorrelated given the past. The addition of one to the variance,
// Var[Σ A_r·q(i|r)·U_i·p^(r−i)], is a polynomial of p of the degree 2k, since two sets of i
// and j of n rollouts with c in common pass with the chance p^(i+j−c). The standard error
// has its posterior expectation given all rollouts, as the mean's has E[p(1−p)] (package
// estimate): under the reference prior, or under the law of p that the tasks themselves
// suggest (nonparametric maximum likelihood), whichever sum is larger. The first knows that
// a task may fail though all its rollouts have passed; the second is right of tasks unlike
// the prior's, but needs some of them.

// Question is a question about k rollouts of a task.
type Question struct {
	K   int  // from 1 to MostK
	Any bool // pass@k, that one of them passes; otherwise pass^k, that all do

	// Least is the number of rollouts that a task was sure to have ahead for as long as it
	// had weight left, staged.Plan.Least; 0: 1.
	Least int
}

// MostK is the largest k.
const MostK = 64

// String is the question's name, pass^k or pass@k.
func (q Question) String() string {
	if q.Any {
		return fmt.Sprintf("pass@%d", q.K)
	}
	return fmt.Sprintf("pass^%d", q.K)
}

// Floor is the least Plan.Least under which a plan with pilots of m rollouts answers the
// question; 1 is none.
func (q Question) Floor(pilots int) int { return max(1, q.K-pilots) }

// BestFloor is the Plan.Least that answers it best: k, or what the pilot leaves of the
// budget if that is less, and Floor at least.
func (q Question) BestFloor(pilots, budget int) int {
	return max(q.Floor(pilots), min(q.K, budget-pilots))
}

// Of estimates the mean of pass^k or pass@k over tasks by their selected rollouts, as
// estimate.Of does the mean reward. It is an error if tasks are not as that function wants
// them, if rewards are graded, and if a task's stages have too few rollouts for k.
func (q Question) Of(prior *neyman.Prior, tasks []Task) (Bounded, error) {
	if q.K < 1 || q.K > MostK || q.Least < 0 {
		return Bounded{}, fmt.Errorf("%v with at least %d rollouts ahead: want k from 1 to %d, and no fewer than 0", q, q.Least, MostK)
	}
	observed, rewards := make([]int, len(tasks)), make([]float64, len(tasks))
	paths, classes := make([]path, len(tasks)), make([]class, len(tasks))
	for i, t := range tasks {
		stages, err := q.stages(t)
		if err == nil {
			paths[i], err = q.follow(stages)
		}
		if err != nil {
			return Bounded{}, fmt.Errorf("task %d: %v: %w", i, q, err)
		}
		for _, s := range stages {
			classes[i].rollouts += s.rollouts
			classes[i].passes += s.passes
		}
		observed[i], rewards[i] = classes[i].rollouts, float64(classes[i].passes)
	}
	update, err := prior.Update(observed, rewards)
	if err != nil {
		return Bounded{}, err
	}
	population := newPopulation(classes)
	var value, expected, variance, suggested float64
	shares, all := Shares(tasks)
	for i, p := range paths {
		powers := update.Powers(i, 2*q.K)
		own, mean := p.value, powers[q.K]
		if q.Any {
			own, mean = 1-own, 1-mean
		}
		share := shares[i]
		value += share * own
		expected += share * mean
		variance += share * share * max(0, p.variance.expect(powers))
		suggested += share * share * population.expect(p.variance, classes[i])
	}
	value, expected, variance = value/all, expected/all, max(variance, suggested)/(all*all)
	draws := expected * (1 - expected) / variance // of a share as expected, which is not 0 or 1
	return newBounded(value, math.Sqrt(variance), func(rate float64) (low, high float64) {
		return score(value, draws, -distuv.UnitNormal.Quantile(rate))
	}), nil
}

// stages are a task's, with failures counted as passes for pass@k: 1 − E[(1−p)^k].
func (q Question) stages(t Task) (stages []stage, err error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	for _, s := range t.Stages {
		if s.Rewards != math.Trunc(s.Rewards) || s.Squares != s.Rewards {
			return nil, errors.New("graded rewards have no pass@k and pass^k: these need rollouts that pass or fail")
		}
		passes := int(s.Rewards)
		if q.Any {
			passes = s.Rollouts - passes
		}
		stages = append(stages, stage{rollouts: s.Rollouts, passes: passes, weight: s.Weight})
	}
	return stages, nil
}

// stage is the rollouts of one task in one stage.
type stage struct {
	rollouts, passes int
	weight           float64 // in the mean, c
}

// path is a task's way through its stages.
type path struct {
	value    float64 // A_0 after the last
	variance polynomial
}

// nothing is how much of a task's weight may be left by rounding.
const nothing = 1e-9

// follow goes through the stages of a task.
func (q Question) follow(stages []stage) (path, error) {
	p := path{variance: make(polynomial, 2*q.K+1)}
	ahead := make([]float64, q.K+1) // A, by the number of rollouts to come
	ahead[q.K] = 1
	rest := 1.0
	for number, s := range stages {
		if s.weight == 0 && rest <= nothing { // after the task's last
			continue
		}
		fraction := min(1, s.weight/rest)
		if rest -= s.weight; rest <= nothing {
			fraction = 1
		}
		taken, err := q.stageParts(ahead, s.rollouts, fraction)
		if err != nil {
			return path{}, fmt.Errorf("stage %d: %w", number, err)
		}
		p.variance.addVariance(taken, ahead, s.rollouts)
		clear(ahead)
		for _, t := range taken {
			ahead[t.left] += t.weight * passing(t.taken, s.passes, s.rollouts)
		}
	}
	p.value = ahead[0]
	return p, nil
}

// part is a share of the estimate that takes some rollouts of a stage, and leaves some to
// come.
type part struct {
	taken, left int
	weight      float64 // A·q
}

// stageParts decides what a stage takes, before its rollouts are seen: by the weights A, the
// number of its rollouts, and its fraction of the weight that the task has left.
func (q Question) stageParts(ahead []float64, rollouts int, fraction float64) (parts []part, err error) {
	least := max(1, q.Least)
	for r, weight := range ahead {
		if weight == 0 {
			continue
		}
		low, high := max(0, r-least), min(r, rollouts)
		if fraction == 1 {
			low = r
		}
		if low > high {
			return nil, fmt.Errorf("%d rollouts, of which %d would be needed: take longer pilots, or a floor of %d rollouts in the stages after them", rollouts, low, q.K)
		}
		shares := hypergeometric(r, low, high, float64(rollouts), float64(rollouts)/fraction)
		for k, share := range shares {
			if share > 0 {
				parts = append(parts, part{low + k, r - low - k, weight * share})
			}
		}
	}
	return parts, nil
}

// hypergeometric is the chances that of r rollouts chosen among all i are of the stage,
// for i from low to high, given that i is one of these. all may be no whole number, and
// infinite.
func hypergeometric(r, low, high int, stage, all float64) []float64 {
	chances := make([]float64, high-low+1)
	sum := 0.0
	for k := range chances {
		i := low + k
		chance := choose(float64(r), i)
		for j := range r { // the j-th of the r rollouts that are chosen
			if j < i {
				chance *= max(0, stage-float64(j)) / max(1, all-float64(j))
			} else if !math.IsInf(all, 1) {
				chance *= max(0, all-stage-float64(j-i)) / max(1, all-float64(j))
			}
		}
		chances[k] = chance
		sum += chance
	}
	if sum == 0 { // none of these can be: take what is nearest
		nearest := min(high, max(low, int(math.Round(float64(r)*stage/all))))
		chances[nearest-low], sum = 1, 1
	}
	for k := range chances {
		chances[k] /= sum
	}
	return chances
}

// passing is the share of all sets of i of the n rollouts that passed whole, where s
// did: C(s,i)/C(n,i).
func passing(i, s, n int) float64 {
	share := 1.0
	for j := range i {
		share *= max(0, float64(s-j)) / float64(n-j)
	}
	return share
}

// choose is C(x, i).
func choose(x float64, i int) float64 {
	ways := 1.0
	for j := range i {
		ways *= (x - float64(j)) / float64(j+1)
	}
	return ways
}
