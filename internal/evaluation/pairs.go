package evaluation

import (
	"errors"
	"fmt"

	"speceval/internal/store/rollout"
	"speceval/method/estimate"
)

// PairsOf pairs the rollouts of two coupled evaluations, those with the same seed. The error
// says why they are no pairs.
func PairsOf(a, b *Stored) ([]estimate.Pairs, error) {
	switch first, second := a.Result, b.Result; {
	case !first.Coupled || !second.Coupled:
		return nil, errors.New("one of them is not coupled")
	case first.Seed != second.Seed || first.Benchmark != second.Benchmark || first.Tasks != second.Tasks:
		return nil, errors.New("they have other seeds or tasks")
	}
	rewards, err := a.rewards()
	if err != nil {
		return nil, err
	}
	others, err := b.rewards()
	if err != nil {
		return nil, err
	}
	pairs := make([]estimate.Pairs, a.Result.Tasks)
	for i, t := range a.Result.Rows {
		other := b.Result.Rows[i]
		if t.ID != other.ID || len(t.Stages) != len(other.Stages) {
			return nil, errors.New("they have other tasks or stages")
		}
		var stages, otherStages [][]float64
		var weights []float64
		own, theirs := rewards[i], others[i]
		for k, s := range t.Stages {
			if s.Rollouts != other.Stages[k].Rollouts || s.Weight != other.Stages[k].Weight {
				return nil, fmt.Errorf("task %s has %d rollouts of one and %d of the other in stage %d", t.ID, s.Rollouts, other.Stages[k].Rollouts, k+1)
			}
			stages, own = append(stages, own[:s.Rollouts]), own[s.Rollouts:]
			otherStages, theirs = append(otherStages, theirs[:s.Rollouts]), theirs[s.Rollouts:]
			weights = append(weights, s.Weight)
		}
		if pairs[i], err = estimate.NewPairs(stages, otherStages, weights, t.Share); err != nil {
			return nil, err
		}
	}
	return pairs, nil
}

// rewards are the rewards of the rollouts that count, by task and number.
func (s *Stored) rewards() ([][]float64, error) {
	if err := s.Needs(ScoresFile); err != nil {
		return nil, err
	}
	all, left := make([][]float64, s.Result.Tasks), s.Result.Rollouts
	for i, t := range s.Result.Rows {
		all[i] = make([]float64, t.Rollouts())
	}
	for v, err := range rollout.Scores(s.path(ScoresFile)) {
		if err != nil {
			return nil, err
		}
		if of := all[v.TaskIndex]; int(v.Rollout) < len(of) {
			of[v.Rollout] = v.Reward()
			left--
		}
	}
	if left != 0 {
		return nil, fmt.Errorf("%s has verdicts on %d rollouts less than count", s.path(ScoresFile), left)
	}
	return all, nil
}
