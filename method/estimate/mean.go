package estimate

import (
	"fmt"
	"math"

	"speceval/method/neyman"
)

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

// Moments are what the rollouts say of one task.
type Moments struct {
	Value    float64 // unbiased estimate of the task's mean p, Σ c·X over its stages
	Mean     float64 // posterior expectation of p under the reference prior
	Variance float64 // and of p(1−p), the variance of a rollout that passes or fails
}

// quantile is that of the standard normal at 97.5%, for intervals of 95%.
const quantile = 1.959963984540054

// Of is the estimate by the selected rollouts of all tasks: the mean over tasks, by
// their shares, of Σ c·X over the stages of each. Uniform is one stage with the weight
// 1. It is an error if there are no tasks, if a task has no rollouts in a stage that
// counts or weights that do not add up to one, or if sums are of no rewards in [0, 1].
func Of(prior *neyman.Prior, tasks []Task) (Mean, error) {
	observed, rewards := make([]int, len(tasks)), make([]float64, len(tasks))
	for i, t := range tasks {
		if err := t.check(); err != nil {
			return Mean{}, fmt.Errorf("task %d: %w", i, err)
		}
		observed[i], rewards[i] = t.pooled()
	}
	update, err := prior.UpdateGraded(observed, rewards)
	if err != nil {
		return Mean{}, err
	}
	var m Mean
	var center, variance, spread float64
	shares, n := shares(tasks)
	for i, t := range tasks {
		of := Moments{Value: t.value()}
		of.Mean, of.Variance = update.Moments(i)
		m.Tasks = append(m.Tasks, of)
		share := shares[i]
		m.Value += share * of.Value
		center += share * of.Mean
		variance += share * share * of.Variance * t.shrinkage()
		spread += share * share * of.Variance
	}
	m.Value /= n
	m.StandardError = math.Sqrt(variance) / n
	m.Low, m.High = wilson(m.Value, center/n, variance/(n*n))
	m.Uniform = spread / variance
	return m, nil
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
