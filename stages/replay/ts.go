package replay

import (
	"context"
	"math"

	"speceval/internal/exante"
	"speceval/internal/seed"
	"speceval/internal/tsneyman"
)

// tsCounts are where the trajectories of one candidate on one profile stand at
// one budget: the rollouts and successes of every task, [trajectory][task].
type tsCounts struct {
	tasks               int
	rollouts, successes []int32
}

// tsStreams are the sources of randomness of the trajectories on a profile. All
// candidates share the outcomes: rollout j of a task passes or not in a
// trajectory whatever led to it.
type tsStreams struct{ outcomes, choices seed.Stream }

// tsRun runs trajectories first, first + 1, … of one warm start on a profile, and
// returns their counts at each of the budgets, in rising order and none below
// the warm start.
func tsRun(ctx context.Context, sampler *tsneyman.Sampler, probabilities []float64, warm int, budgets []int, first, draws int, streams tsStreams) ([]tsCounts, error) {
	tasks := len(probabilities)
	counts := make([]tsCounts, len(budgets))
	for k := range counts {
		counts[k] = tsCounts{tasks, make([]int32, 0, draws*tasks), make([]int32, 0, draws*tasks)}
	}
	outcomes := tsneyman.NewOutcomes(probabilities)
	for t := first; t < first+draws; t++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		outcomes.Begin(streams.outcomes.At(uint64(t)))
		sampler.Begin(outcomes, warm, streams.choices.At(uint64(t)))
		for k, b := range budgets {
			sampler.Advance(tasks * b)
			counts[k].rollouts = append(counts[k].rollouts, sampler.Rollouts()...)
			counts[k].successes = append(counts[k].successes, sampler.Successes()...)
		}
	}
	return counts, nil
}

// tsError is an estimated MSE, relative to Uniform's, with its standard error.
type tsError struct{ value, se float64 }

// mse estimates the MSE of the sequential estimate at a budget from its
// trajectories, relative to Uniform's: plainly, and with a control variate.
//
// The error of a trajectory is e = Σ d/(N n) over the tasks, with d = S − n p. The
// error with other denominators, Z = Σ d/(N ñ), is a martingale's end whatever
// the policy, if the ñ are fixed beforehand: its mean square is that of
// A = Σ n p(1−p)/(N ñ)². So e² − (Z² − A) has the mean of e², and far less
// variance where ñ is close to n. Here ñ is the mean n over the trajectories of
// the other half, which are independent.
func (c tsCounts) mse(probabilities []float64, budget int) (controlled, raw tsError) {
	uniform := 0.0
	for _, p := range probabilities {
		uniform += p * (1 - p)
	}
	tasks := float64(c.tasks)
	uniform /= tasks * tasks * float64(budget)
	typical := [2][]float64{c.typical(0), c.typical(1)}
	draws := len(c.rollouts) / c.tasks
	squares, differences := make([]float64, draws), make([]float64, draws)
	for t := range draws {
		others := typical[1-t%2]
		var e, z, a float64
		for i, p := range probabilities {
			n := float64(c.rollouts[t*c.tasks+i])
			d := (float64(c.successes[t*c.tasks+i]) - n*p) / tasks
			e += d / n
			z += d / others[i]
			a += n * p * (1 - p) / (tasks * tasks * others[i] * others[i])
		}
		squares[t] = e * e / uniform
		differences[t] = squares[t] - (z*z-a)/uniform
	}
	return meanError(differences), meanError(squares)
}

// typical is the mean number of rollouts of each task over the trajectories of
// one half: those of even or of odd number.
func (c tsCounts) typical(half int) []float64 {
	mean := make([]float64, c.tasks)
	draws := 0.0
	for t := half; t < len(c.rollouts)/c.tasks; t += 2 {
		draws++
		for i := range mean {
			mean[i] += float64(c.rollouts[t*c.tasks+i])
		}
	}
	for i := range mean {
		mean[i] /= draws
	}
	return mean
}

func meanError(xs []float64) tsError {
	mean, se := exante.MeanAndError(xs)
	return tsError{mean, se}
}

// tsMean is the mean over profiles of independent estimates.
func tsMean(all []tsError) tsError {
	var sum, squares float64
	for _, e := range all {
		sum += e.value
		squares += e.se * e.se
	}
	n := float64(len(all))
	return tsError{sum / n, math.Sqrt(squares) / n}
}
