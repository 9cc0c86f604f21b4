package variance

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"speceval/internal/policy"
	"speceval/internal/profile"
)

// Case is everything that the case study is made from.
type Case struct {
	profile.Profile
	Budget    int32       // of the sampling distributions
	Ratios    []Ratio     // of the profile
	Estimates []Estimates // none where there are no distributions
	Simulated bool        // the replay is to make such
}

// NotReplayed says that the ratios of the profile are not there.
const NotReplayed = "Nothing to show yet: the replay stage has not run."

// noVariance says that a profile cannot be studied.
const noVariance = "Every rollout of a task went the same way: there is no variance to compare."

// NoRatios says why there is no ratio of the profile, and nothing where there is.
func (c Case) NoRatios() string {
	switch {
	case c.N() > 0 && c.VarianceSum() == 0:
		return noVariance
	case len(c.Ratios) == 0:
		return NotReplayed
	}
	return ""
}

// NoEstimates likewise says why there are no sampling distributions.
func (c Case) NoEstimates() string {
	switch {
	case len(c.Estimates) > 0:
		return ""
	case c.N() > 0 && c.VarianceSum() == 0:
		return noVariance
	case !c.Simulated:
		return fmt.Sprintf("No sampling distributions were simulated: %d, the budget of the case study, is not among those of the experiment.", c.Budget)
	}
	return NotReplayed
}

// NewCase keeps what is of the case study's profile.
func NewCase(p profile.Profile, budget int32, ratios []Ratio, estimates []Estimates) Case {
	c := Case{Profile: p, Budget: budget}
	for _, r := range ratios {
		if r.Profile() == c.Name() {
			c.Ratios = append(c.Ratios, r)
		}
	}
	for _, e := range estimates {
		if e.Benchmark == c.Benchmark && e.Model == c.Model && e.Budget == c.Budget {
			c.Estimates = append(c.Estimates, e)
		}
	}
	return c
}

// Ratio is the variance ratio of a policy at a budget; ok is false where it was
// not replayed. Uniform's is one.
func (c Case) Ratio(of *policy.Policy, budget int32) (r Ratio, ok bool) {
	if of == policy.Uniform {
		return Ratio{Benchmark: c.Benchmark, Model: c.Model, NTasks: int32(c.N()), Budget: budget, Policy: of.Name, Donors: of.Donors.Name, VarianceRatio: 1}, true
	}
	return ProfileRatio(c.Ratios, of, c.Name(), budget)
}

// HalfWidth is the half-width of the 95% interval of a normal law, as a
// fraction: 1.96 standard deviations of an estimator with a ratio to Uniform's
// variance Σ p(1−p)/(N²b) (paper, Eq. 1).
func (c Case) HalfWidth(ratio float64, budget int32) float64 {
	n := float64(c.N())
	return GainZ * math.Sqrt(ratio*c.VarianceSum()/float64(float64(n*n)*float64(budget)))
}

// Distribution is the bins of a policy.
func (c Case) Distribution(of *policy.Policy) []Estimates {
	var out []Estimates
	for _, e := range c.Estimates {
		if e.Policy == of.Name {
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b Estimates) int { return cmp.Compare(a.Low, b.Low) })
	return out
}

// Below counts the tasks with a probability below a limit.
func (c Case) Below(limit float64) int {
	return c.count(func(i int) bool { return c.P(i) < limit })
}

// Above counts the tasks with a probability above a limit.
func (c Case) Above(limit float64) int {
	return c.count(func(i int) bool { return c.P(i) > limit })
}

// Endpoints counts the tasks whose rollouts all went the same way.
func (c Case) Endpoints() int { return c.count(c.Endpoint) }

// Endpoint reports whether all rollouts of task i went the same way.
func (c Case) Endpoint(i int) bool { return c.PassCounts[i] == 0 || c.PassCounts[i] == c.Rollouts(i) }

func (c Case) count(holds func(task int) bool) (n int) {
	for i := range c.N() {
		if holds(i) {
			n++
		}
	}
	return n
}

// SpreadSE is the standard error of SD − Expected of simulated evaluations: of a
// standard deviation over that many nearly normal estimates, and of the replayed
// ratio in the formula.
func (c Case) SpreadSE(p *policy.Policy, e Estimates) float64 {
	own := e.SD / math.Sqrt(2*float64(e.Repetitions-1))
	r, ok := c.Ratio(p, e.Budget)
	if !ok {
		return own
	}
	return math.Hypot(own, e.Expected*r.RatioSE/(2*r.VarianceRatio))
}
