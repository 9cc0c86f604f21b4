package estimate

import (
	"errors"
	"fmt"
	"math"

	"speceval/method/neyman"
)

// Task is the selected rollouts of one task.
type Task struct {
	Pilots, PilotPasses               int
	Continuations, ContinuationPasses int
}

// Mean is an estimate of a benchmark mean.
type Mean struct {
	Value         float64
	StandardError float64
	Low, High     float64 // ends of the 95% interval

	// Uniform is the number of rollouts per task, no whole one, at which Uniform
	// has this standard error.
	Uniform float64
	Tasks   []Moments
}

// Moments are what the rollouts say of one task: posterior expectations under
// the reference prior.
type Moments struct {
	Mean     float64 // of p
	Variance float64 // of p(1−p), the variance of a rollout
}

// quantile is that of the standard normal at 97.5%, for intervals of 95%.
const quantile = 1.959963984540054

// Of is the estimate by the selected rollouts of all tasks, with the pilot's
// stage weight w. Uniform is the pilot alone, with the weight 1. It is an error if
// a task has no rollouts in a stage that counts.
func Of(prior *neyman.Prior, tasks []Task, weight float64) (Mean, error) {
	if !(weight >= 0 && weight <= 1) {
		return Mean{}, fmt.Errorf("a stage weight of %v: want 0 to 1", weight)
	}
	observed, successes := make([]int, len(tasks)), make([]int, len(tasks))
	for i, t := range tasks {
		if err := t.check(weight); err != nil {
			return Mean{}, fmt.Errorf("task %d: %w", i, err)
		}
		observed[i], successes[i] = t.Pilots+t.Continuations, t.PilotPasses+t.ContinuationPasses
	}
	update, err := prior.Update(observed, successes)
	if err != nil {
		return Mean{}, err
	}
	var m Mean
	var center, variance, spread float64
	for i, t := range tasks {
		var of Moments
		of.Mean, of.Variance = update.Moments(i)
		m.Tasks = append(m.Tasks, of)
		m.Value += t.value(weight)
		center += of.Mean
		variance += of.Variance * t.shrinkage(weight)
		spread += of.Variance
	}
	n := float64(len(tasks))
	m.Value /= n
	m.StandardError = math.Sqrt(variance) / n
	m.Low, m.High = wilson(m.Value, center/n, variance/(n*n))
	m.Uniform = spread / variance
	return m, nil
}

// check says what is wrong with the numbers, if anything.
func (t Task) check(weight float64) error {
	switch {
	case t.PilotPasses < 0 || t.PilotPasses > t.Pilots || t.ContinuationPasses < 0 || t.ContinuationPasses > t.Continuations:
		return fmt.Errorf("%d of %d pilot rollouts and %d of %d continuations cannot have passed", t.PilotPasses, t.Pilots, t.ContinuationPasses, t.Continuations)
	case weight > 0 && t.Pilots == 0:
		return errors.New("no pilot rollout")
	case weight < 1 && t.Continuations == 0:
		return errors.New("no continuation")
	}
	return nil
}

// value is the task's pass rate with its stages weighted (paper, Eq. 3).
func (t Task) value(weight float64) float64 {
	sum := 0.0
	if weight > 0 {
		sum += weight * float64(t.PilotPasses) / float64(t.Pilots)
	}
	if weight < 1 {
		sum += (1 - weight) * float64(t.ContinuationPasses) / float64(t.Continuations)
	}
	return sum
}

// shrinkage is the variance of value, of a rollout that has the variance 1.
func (t Task) shrinkage(weight float64) float64 {
	sum := 0.0
	if weight > 0 {
		sum += weight * weight / float64(t.Pilots)
	}
	if weight < 1 {
		sum += (1 - weight) * (1 - weight) / float64(t.Continuations)
	}
	return sum
}

// wilson is the 95% interval about a share that was found with a variance: that of
// as many draws as have this variance where the share is as the posterior has it,
// which is never 0 or 1.
func wilson(share, posterior, variance float64) (low, high float64) {
	draws := posterior * (1 - posterior) / variance
	z2 := quantile * quantile
	center := (share + z2/(2*draws)) / (1 + z2/draws)
	half := quantile / (1 + z2/draws) * math.Sqrt(share*(1-share)/draws+z2/(4*draws*draws))
	return min(share, max(0, center-half)), max(share, min(1, center+half))
}
