package estimate

import (
	"math"
	"slices"

	"speceval/method/neyman"
)

// graded is the estimate of variance and skewness of rewards, some neither 0 nor 1.
//
// An interval of means μ about an estimate x has (x−μ)² ≤ z²·V(μ), with V the variance of
// the estimate where the mean is μ. Wilson's takes V from passes, μ(1−μ)/n. It is longer
// towards 1/2 because passes are skewed: in an exponential family V′ is the third cumulant
// κ over V. The same holds to the first order of any mean (Johnson, JASA 73, 1978; Hall,
// JRSS B 54, 1992), so that with J = ∓κ/V, for the lower and the upper end,
//
//	(x−μ)² = z²·(V + J·|x−μ|),  |x−μ| = z²J/2 + √(z⁴J²/4 + z²V).
//
// J is a length, by which a rare reward moves the estimate: where n rewards are .98 but for
// k zeros, V is k·(.98/n)², J is .98/n, and the end is Poisson's score interval's. Wilson's
// own V, scaled to the variance of graded rewards, would have J scaled as well, and miss a
// skewness that they do not share with passes. A skewness that would shorten the interval is
// not used: J is 0 then.
//
// # Its numbers
//
// All are of pooled rollouts, n of a task, with the sums S of (r−r̄)² and C of (r−r̄)³ about
// the task's own mean. S has the expectation (n−1)·v, and C·n/(n−2) has (n−1)·v·ρ, where ρ
// is κ/V of one rollout. A rare reward may not have been seen yet. Its unseen share, of a
// rollout of 0 and of one of 1, is therefore added to both sums of all tasks: half of each
// to S, and the one of its end to C.
//
// The variance of a task's rewards is the one that the allocation assumes: the posterior's
// E[p(1−p)] times the dispersion Σ S/Σ (n−1)·E[p(1−p)], counted as trust rollouts, and the
// task's own S. J is ρ of all tasks, times a rollout's weight in the estimate:
// Σ share³·Σ c³/n²·v over Σ share²·Σ c²/n·v. Student's quantile has a degree of freedom for
// every effective task, (Σ parts)²/Σ parts² of the tasks' parts in the variance.
//
// Where the cubes of rewards were not counted, C is as far out on either side as it can be
// given S: S^(3/2)·(n−2)/√(n(n−1)) (Wilkins, Annals of Mathematical Statistics 15, 1944).
type graded struct {
	variances []float64  // by task, of a rollout's reward
	jumps     [2]float64 // J at the lower end and at the upper one
	freedom   float64
}

// unseen is the share of a rollout of 0, and of one of 1, that is allowed for. With less a
// reward that has not been seen is missed, with more the interval of rewards that hardly
// differ is long.
const unseen = 0.4

// trust is how many rollouts of a task the dispersion of all tasks counts for, as in the
// controller's allocation.
const trust = 4

// isGraded reports whether a reward is neither 0 nor 1.
func isGraded(tasks []Task) bool {
	return slices.ContainsFunc(tasks, func(t Task) bool {
		return slices.ContainsFunc(t.Stages, func(s Stage) bool { return s.Squares != s.Rewards })
	})
}

// grade sets what follows from rewards being graded, and the posteriors' expectations to
// those of graded rewards. Shares add up to sum.
func (v *variances) grade(posteriors []neyman.Mixture, tasks []Task, shares []float64, sum float64) {
	g := &graded{}
	for _, p := range posteriors {
		g.variances = append(g.variances, p.Variances()...)
	}
	var mean, squares, passes float64
	var cubes [2]float64
	for i, t := range tasks {
		s := t.spread()
		mean += shares[i] / sum * t.Value()
		squares += s.squares
		passes += s.free * g.variances[i]
		cubes[0] -= s.least
		cubes[1] += s.most
	}
	for end, far := range [2]float64{mean, 1 - mean} {
		squares += unseen / 2 * far * far
		cubes[end] += unseen * far * far * far
	}
	dispersion := 1.0
	if passes > 0 {
		dispersion = squares / passes
	}
	var third, own float64
	v.expected, v.single = 0, 0
	for i, t := range tasks {
		s, share := t.spread(), shares[i]/sum
		g.variances[i] = (trust*dispersion*g.variances[i] + s.squares) / (trust + s.free)
		part := share * share * t.Shrinkage() * g.variances[i]
		v.expected += part
		v.single += share * share * g.variances[i]
		third += share * share * share * t.cubic() * g.variances[i]
		own += part * part
	}
	for end, c := range cubes {
		g.jumps[end] = max(0, c) / squares * third / v.expected
	}
	g.freedom = v.expected * v.expected / own
	v.graded = g
}

// interval is the 95% interval about an estimate with the given variance.
func (g *graded) interval(value, variance float64) (low, high float64) {
	z := student(g.freedom)
	reach := func(jump float64) float64 {
		half := z * z * jump / 2
		return half + math.Sqrt(half*half+z*z*variance)
	}
	return max(0, value-reach(g.jumps[0])), min(1, value+reach(g.jumps[1]))
}

// spread is a task's rewards about their mean.
type spread struct {
	free    float64 // n − 1
	squares float64 // Σ (r−r̄)²

	// The sum of (r−r̄)³ times n/(n−2), between two bounds that are equal where it is known.
	least, most float64
}

// spread is the spread of all rollouts of the task.
func (t Task) spread() (s spread) {
	var n, rewards, squares, cubes float64
	known := true
	for _, stage := range t.Stages {
		n += float64(stage.Rollouts)
		rewards += stage.Rewards
		squares += stage.Squares
		cubes += stage.Squares - stage.Third
		known = known && (stage.Third > 0 || stage.Squares == stage.Rewards)
	}
	if n < 2 {
		return spread{}
	}
	mean := rewards / n
	s.free, s.squares = n-1, max(0, squares-rewards*mean)
	if n == 2 { // which have no skewness
		return s
	}
	s.most = math.Pow(s.squares, 1.5) * math.Sqrt(n/(n-1))
	s.least = -s.most
	if known {
		c := (cubes - 3*mean*squares + 2*n*mean*mean*mean) * n / (n - 2)
		s.least = min(s.most, max(s.least, c))
		s.most = s.least
	}
	return s
}

// cubic is the third cumulant of value, of a rollout that has the third cumulant 1: Σ c³/n².
func (t Task) cubic() float64 {
	sum := 0.0
	for _, s := range t.Stages {
		if s.Weight > 0 {
			n := float64(s.Rollouts)
			sum += s.Weight * s.Weight * s.Weight / (n * n)
		}
	}
	return sum
}
