package replay

import (
	"math"

	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/trial"
	"speceval/internal/variance"
)

// stagesRun is the replay of a policy in stages at one budget.
type stagesRun struct {
	policy *policy.Policy
	design variance.Design
	trial  *trial.Trial // under the donors of the replicate at hand

	ratio, difference clustered // of the ratio itself, and of how far it is above HBN's
}

// clustered is the mean of values that come in clusters: evaluations that share what
// was drawn of donors.
type clustered struct {
	means  paired // of the clusters
	within paired // of the values of the cluster at hand
	all    paired
}

func (c *clustered) add(value float64) {
	c.within.add(value)
	c.all.add(value)
}

// next ends a cluster.
func (c *clustered) next() {
	c.means.add(c.within.mean())
	c.within = paired{}
}

// se is the standard error of the mean: by the clusters, or by the values where all
// are in one.
func (c *clustered) se() float64 {
	if c.means.draws > 1 {
		return c.means.se()
	}
	return c.all.se()
}

// rows are the ratio of a run with its difference to HBN's, which is nil if HBN is
// not replayed.
func (r *stagesRun) rows(p profile.Profile) (variance.Ratio, *variance.Difference) {
	d := r.design
	ratio := variance.Ratio{
		Benchmark: p.Benchmark, Model: p.Model, NTasks: d.NTasks, Budget: d.Budget,
		Policy: r.policy.Name, Donors: r.policy.Donors.Name, M: &d.M, W: &d.W,
		VarianceRatio: r.ratio.all.mean(), RatioSE: r.ratio.se(), Draws: int32(r.ratio.all.draws),
	}
	if r.policy.InStages.LeaveOneOut {
		ratio.W = nil // each task has its own
	}
	if r.difference.all.draws == 0 {
		return ratio, nil
	}
	return ratio, &variance.Difference{
		Benchmark: p.Benchmark, Model: p.Model, NTasks: d.NTasks, Budget: d.Budget,
		Policy: r.policy.Name, Donors: r.policy.Donors.Name,
		Difference: r.difference.all.mean(), DifferenceSE: r.difference.se(), Draws: int32(r.difference.all.draws),
	}
}

// mean is the mean of the values, NaN of none.
func (p *paired) mean() float64 {
	if p.draws == 0 {
		return math.NaN()
	}
	return p.first + p.drift/p.draws
}
