package estimate

import (
	"errors"
	"fmt"
	"math"
)

// Task is the selected rollouts of one task.
type Task struct {
	Stages []Stage

	// Share is the task's weight in the mean over tasks, relative to the sum of all
	// shares. Where all are 0, tasks count alike.
	Share float64
}

// Stage is the selected rollouts that one task had in one stage. Their number and
// their weight were decided before any of them.
type Stage struct {
	Rollouts int     `json:"rollouts"`
	Rewards  float64 `json:"rewards"` // their sum; every reward is in [0, 1]
	Squares  float64 `json:"squares"` // the sum of their squares, that of Rewards where all are 0 or 1
	Weight   float64 `json:"weight"`  // c, of the stage's mean; a task's weights add up to one
}

// Binary is a stage of rollouts that passed or failed.
func Binary(rollouts, passes int, weight float64) Stage {
	return Stage{Rollouts: rollouts, Rewards: float64(passes), Squares: float64(passes), Weight: weight}
}

// slack is how far sums of some thousand numbers may be off by rounding, relative to
// their number.
const slack = 1e-9

// check says what is wrong with the numbers, if anything.
func (t Task) check() error {
	if !(t.Share >= 0 && t.Share <= math.MaxFloat64) {
		return fmt.Errorf("a share of %v: want a number from 0", t.Share)
	}
	total := 0.0
	for k, s := range t.Stages {
		if err := s.check(); err != nil {
			return fmt.Errorf("stage %d: %w", k, err)
		}
		total += s.Weight
	}
	if math.Abs(total-1) > slack {
		return fmt.Errorf("the weights of its stages add up to %v, want 1", total)
	}
	return nil
}

func (s Stage) check() error {
	n := float64(s.Rollouts)
	switch {
	case s.Rollouts < 0:
		return fmt.Errorf("%d rollouts", s.Rollouts)
	case !(s.Weight >= 0 && s.Weight <= 1+slack):
		return fmt.Errorf("a weight of %v: want 0 to 1", s.Weight)
	case s.Weight > 0 && s.Rollouts == 0:
		return errors.New("no rollout in a stage that counts")
	case !(s.Rewards >= 0 && s.Rewards <= n*(1+slack)):
		return fmt.Errorf("%d rollouts cannot have rewards that add up to %v", s.Rollouts, s.Rewards)
	case !(s.Squares <= s.Rewards+n*slack && s.Squares*n >= s.Rewards*s.Rewards-n*n*slack):
		return fmt.Errorf("%d rewards in [0, 1] that add up to %v cannot have squares that add up to %v", s.Rollouts, s.Rewards, s.Squares)
	}
	return nil
}

// value is the task's stages with their weights, Σ c·X (paper, Eq. 3, for two).
func (t Task) value() float64 {
	sum := 0.0
	for _, s := range t.Stages {
		if s.Weight > 0 {
			sum += s.Weight * s.Rewards / float64(s.Rollouts)
		}
	}
	return sum
}

// shrinkage is the variance of value, of a rollout that has the variance 1: Σ c²/n.
func (t Task) shrinkage() float64 {
	sum := 0.0
	for _, s := range t.Stages {
		if s.Weight > 0 {
			sum += s.Weight * s.Weight / float64(s.Rollouts)
		}
	}
	return sum
}

// pooled is all rollouts of the task with the sum of their rewards.
func (t Task) pooled() (rollouts int, rewards float64) {
	for _, s := range t.Stages {
		rollouts += s.Rollouts
		rewards += s.Rewards
	}
	return rollouts, min(rewards, float64(rollouts))
}

// shares are the weights of the tasks in the mean, and their sum.
func shares(tasks []Task) (all []float64, sum float64) {
	for _, t := range tasks {
		all = append(all, t.Share)
		sum += t.Share
	}
	if sum == 0 {
		for i := range all {
			all[i] = 1
		}
		sum = float64(len(all))
	}
	return all, sum
}
