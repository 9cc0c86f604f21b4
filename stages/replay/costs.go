package replay

import "speceval/pipeline/pair"

// What units take, in seconds of one core at the paper's precision, as measured
// in a run of the shipped experiment. Plans, and the packing of units into jobs,
// go by them where a unit has never run. Those of designs stand with the policies.
const (
	profileSeconds  = 0.55
	resampleSeconds = 0.3
	stagesSeconds   = 3 // of 100 tasks

	stagesResampleSeconds = 0.3
	donorDesignSeconds    = 0.5 // of 100 tasks
	caseSeconds           = 2.7
	gatherSeconds         = 0.2 // of what only reads and sums up
	tsStepSeconds         = 5e-7

	paperDraws     = 8192
	paperResamples = 128 * 64
	paperCase      = 200_000
)

// ofDraws is what work takes that grows with the draws.
func (b *builder) ofDraws(seconds float64) float64 { return seconds * float64(b.Draws) / paperDraws }

// tsCost is what a trial takes: so many steps of TS-Neyman as there are rollouts
// in its trajectories.
func (b *builder) tsCost(pairs []pair.Pair, task tsTask) float64 {
	steps := 0.0
	for _, p := range pairs {
		for _, warm := range task.warmStarts {
			trajectories := 0
			spans := task.spans(warm, p.N())
			for k := len(spans) - 1; k >= 0; k-- { // those of a larger budget pass by the smaller
				steps += float64(p.N() * spans[k].budget * (spans[k].draws - trajectories))
				trajectories = spans[k].draws
			}
		}
	}
	return tsStepSeconds * steps
}

// finalCost is what a candidate's further trajectories take on average: most
// candidates are no finalists.
func (b *builder) finalCost(task tsTask) float64 {
	ts := b.TSNeyman
	candidates := len(ts.Alphas) * len(ts.WarmStarts)
	finalists := min(candidates, ts.Finalists*len(b.Budgets))
	return b.tsCost(b.pairs, task) * float64(finalists) / float64(candidates)
}
