package controller

import (
	"math"
	"slices"

	"speceval/method/informed"
)

// Informed is a prior that knows donors. Its posteriors take in what is new since they
// were last asked, stage by stage at barriers, which is how policies are replayed
// (internal/trial): what is decided is the same, to the bit.
func Informed(prior *informed.Prior) Prior { return informedPrior{prior} }

type informedPrior struct{ *informed.Prior }

// Posterior is the update, which needs no pilot.
func (p informedPrior) Posterior(int) Posterior {
	return &informedPosterior{posterior: p.Prior.Posterior(), observed: make([]int, p.Tasks()), successes: make([]int, p.Tasks())}
}

// informedPosterior is the update by what was observed so far.
type informedPosterior struct {
	posterior           *informed.Posterior
	observed, successes []int
	rollouts, passes    []int // of them what is new
}

// Scores is that of the interface. Counts of which the last ones are no part begin
// anew; counts that are none of the prior's tasks have no scores.
func (p *informedPosterior) Scores(observed, successes []int, scores []float64) {
	if len(observed) != len(p.observed) || !p.add(observed, successes) && !p.anew(observed, successes) {
		for i := range scores {
			scores[i] = math.NaN()
		}
		return
	}
	p.posterior.Scores(scores)
}

// anew forgets what was observed so far.
func (p *informedPosterior) anew(observed, successes []int) bool {
	p.posterior.Restart()
	clear(p.observed)
	clear(p.successes)
	return p.add(observed, successes)
}

// add takes in what is new. It returns false if the last counts are no part of these.
func (p *informedPosterior) add(observed, successes []int) bool {
	p.rollouts, p.passes = p.rollouts[:0], p.passes[:0]
	news := 0
	for i, n := range observed {
		p.rollouts, p.passes = append(p.rollouts, n-p.observed[i]), append(p.passes, successes[i]-p.successes[i])
		news = max(news, p.rollouts[i])
	}
	switch {
	case news > 0 && p.posterior.Observe(p.rollouts, p.passes) != nil:
		return false
	case news <= 0 && !(slices.Equal(observed, p.observed) && slices.Equal(successes, p.successes)):
		return false
	}
	copy(p.observed, observed)
	copy(p.successes, successes)
	return true
}
