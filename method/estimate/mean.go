package estimate

import (
	"fmt"
	"math"

	"speceval/method/informed"
	"speceval/method/neyman"
)

// Mean is an estimate of a benchmark mean.
type Mean struct {
	Value         float64
	StandardError float64
	Low, High     float64 // ends of the 95% interval

	// Uniform is the number of rollouts per task at which Uniform would have been as
	// precise.
	Uniform Equivalent
	Tasks   []Moments
}

// Moments are what the rollouts say of one task.
type Moments struct {
	Value    float64 // unbiased estimate of the task's mean p, Σ c·X over its stages
	Mean     float64 // posterior expectation of p under the reference prior
	Variance float64 // and of the variance of a rollout, p(1−p) if it passes or fails
}

// quantile is that of the standard normal at 97.5%, for intervals of 95%.
const quantile = 1.959963984540054

// Of is the estimate by the selected rollouts of all tasks: the mean over tasks, by
// their shares, of Σ c·X over the stages of each. Uniform is one stage with the weight
// 1. It is an error if there are no tasks, if a task has no rollouts in a stage that
// counts or weights that do not add up to one, or if sums are of no rewards in [0, 1].
func Of(prior *neyman.Prior, tasks []Task) (Mean, error) { return of(prior, nil, tasks) }

// Informed is Of by a policy that knew more of the tasks than the reference prior does:
// known is what it knew, and the error is by that. The value is the same.
func Informed(prior *neyman.Prior, known *informed.Prior, tasks []Task) (Mean, error) {
	return of(prior, known, tasks)
}

func of(prior *neyman.Prior, known *informed.Prior, tasks []Task) (Mean, error) {
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
	after := update.Mixture()
	if known != nil {
		if after, err = informedPosterior(known, observed, rewards); err != nil {
			return Mean{}, err
		}
	}
	shares, n := shares(tasks)
	variances, value := newVariances(after, tasks, shares, n), 0.0
	m := Mean{StandardError: math.Sqrt(variances.own()), Uniform: variances.equivalent()}
	for i, t := range tasks {
		of := Moments{Value: t.value()}
		of.Mean, of.Variance = update.Moments(i)
		of.Variance *= variances.dispersion
		value += shares[i] * of.Value
		m.Tasks = append(m.Tasks, of)
	}
	m.Value = value / n
	m.Low, m.High = score(m.Value, variances.draws(), variances.quantile())
	return m, nil
}

// informedPosterior is the posterior of a prior that knows donors. It has counts only: graded
// rewards are rounded.
func informedPosterior(known *informed.Prior, observed []int, rewards []float64) (neyman.Mixture, error) {
	passes := make([]int, len(rewards))
	for i, r := range rewards {
		passes[i] = int(math.Round(r))
	}
	posterior := known.Posterior()
	if err := posterior.Observe(observed, passes); err != nil {
		return neyman.Mixture{}, err
	}
	return posterior.Mixture(), nil
}
