package controller

import "speceval/method/neyman"

// Prior is what is known of the tasks before the first rollout. Cold is the paper's,
// which knows nothing of any; others may know more, from other evaluations say. The
// estimate is unbiased whatever the prior, and the better the more of it is true.
//
// A Prior must be deterministic: with the same counts, come to in the same steps, its
// posteriors give the same scores. It must be safe for concurrent use.
type Prior interface {
	// Posterior is the prior's update, for one goroutine at a time, in an evaluation
	// whose pilot has the given number of rollouts of every task.
	Posterior(pilots int) Posterior
}

// Posterior is the update of a prior by the rollouts of an evaluation.
type Posterior interface {
	// Scores writes the expectation of p(1−p) of every task into scores, given
	// observed[i] rollouts of task i of which successes[i] passed (paper, Eqs. 7 and
	// 13). Scores are finite and not negative. It keeps none of the slices.
	Scores(observed, successes []int, scores []float64)
}

// Cold is the reference hierarchical prior, under which tasks are exchangeable (paper,
// Eq. 5). Controllers that are given the same Cold share its tables.
func Cold(prior *neyman.Prior) Prior { return &cold{prior, prior.Partial(0)} }

type cold struct {
	prior   *neyman.Prior
	partial *neyman.Partial
}

// Posterior is the update by Eqs. 6 and 7 once the pilot is complete, and by Eq. 13
// otherwise, which differ by rounding.
func (p *cold) Posterior(pilots int) Posterior {
	return &coldPosterior{cold: p, pilots: pilots, work: p.prior.NewWork()}
}

type coldPosterior struct {
	*cold
	pilots   int
	work     *neyman.Work
	complete *neyman.Posterior // of complete pilots; nil until there are some
	counts   []int             // of complete pilots by successes
}

// Scores is that of the interface.
func (p *coldPosterior) Scores(observed, successes []int, scores []float64) {
	for _, n := range observed {
		if n != p.pilots {
			p.partial.Scores(observed, successes, p.work, scores)
			return
		}
	}
	if p.complete == nil {
		p.complete, p.counts = p.prior.Pilot(p.pilots), make([]int, p.pilots+1)
	}
	clear(p.counts)
	for _, s := range successes {
		p.counts[s]++
	}
	quadratic := p.complete.Scores(p.counts, p.work)
	for i, s := range successes {
		scores[i] = quadratic.At(s)
	}
}
