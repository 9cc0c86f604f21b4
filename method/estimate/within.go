package estimate

import "math"

// within is what the rewards alone say of variances: of one task, or with the squares
// of the shares of several.
type within struct {
	own    float64 // of the estimate: Σ c²/n·s²
	single float64 // of a rollout: Σ c·s²
	graded float64 // by which own falls short of what it were with rewards of 0 or 1: Σ c²/n·(r(1−r) on average)
}

// within is that of the task. Number and weight of a stage's rollouts were decided
// before them, so that the stage's own sample variance s² is unbiased for v given all
// that decided, and c²/n·s² for the stage's part in the variance of the estimate.
func (t Task) within() (sum within) {
	before := Stage{}
	for k, s := range t.Stages {
		if s.Rollouts == 0 {
			continue
		}
		if s.Weight > 0 {
			n := float64(s.Rollouts)
			v, part := s.variance(before, t.Stages[k+1:]), s.Weight*s.Weight/n
			sum.own += part * v
			sum.single += s.Weight * v
			sum.graded += part * max(0, s.Rewards-s.Squares) / n
		}
		before.Rollouts += s.Rollouts
		before.Rewards += s.Rewards
	}
	return sum
}

// variance is an estimate of a reward's variance by the stage. A single rollout is held
// against the next stage, of which the rewards are fresh whatever their number: half the
// mean squared difference is unbiased, too. In the last stage it is held against the
// mean before, and (p̂−p)² too large on average.
func (s Stage) variance(before Stage, later []Stage) float64 {
	n := float64(s.Rollouts)
	if s.Rollouts > 1 {
		return max(0, (s.Squares-s.Rewards*s.Rewards/n)/(n-1))
	}
	for _, next := range later {
		if m := float64(next.Rollouts); m > 0 {
			return max(0, (s.Squares-2*s.Rewards*next.Rewards/m+next.Squares/m)/2)
		}
	}
	if before.Rollouts == 0 {
		return 0 // nothing is known of it
	}
	return math.Pow(s.Rewards-before.Rewards/float64(before.Rollouts), 2)
}

// add adds what is known of a task with a share.
func (s *within) add(t within, share float64) {
	s.own += share * share * t.own
	s.single += share * share * t.single
	s.graded += share * share * t.graded
}

// dispersion is the variance of rewards relative to that of rewards of 0 or 1 with the
// same means, 1 if that is what they are: by the samples, and with the weight of one of
// so many rollouts 1. Expected is own by the posterior, which knows no others.
func (s within) dispersion(expected float64, rollouts int) float64 {
	doubt := expected / float64(rollouts)
	return (s.own + doubt) / (s.own + s.graded + doubt)
}
