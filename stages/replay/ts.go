package replay

import (
	"context"

	"speceval/internal/controlvariate"
	"speceval/internal/seed"
	"speceval/internal/tsneyman"
)

// tsSpan is how many trajectories of a candidate are looked at, at a budget. At a
// smaller budget there are as many more: the error of its mean is as large, and
// so is the time.
type tsSpan struct{ budget, draws int }

// tsSpans are those of budgets in rising order, draws trajectories at the last.
// Budgets below the warm start are left out.
func tsSpans(budgets []int, warm, draws int) []tsSpan {
	var spans []tsSpan
	for _, b := range feasible(budgets, warm) {
		spans = append(spans, tsSpan{b, draws * budgets[len(budgets)-1] / b})
	}
	return spans
}

// tsStreams are the sources of randomness of the trajectories on a profile. All
// candidates share the outcomes: rollout j of a task passes or not in a
// trajectory whatever led to it. Each makes choices of its own, so that a curve
// through many candidates averages over them.
type tsStreams struct{ outcomes, choices seed.Stream }

// tsErrors are the squared errors of trajectories at a budget, relative to the
// MSE of Uniform: as they are, and less a control variate.
type tsErrors struct{ raw, controlled []float64 }

// tsCandidate runs trajectories of one prior strength.
type tsCandidate struct {
	sampler *tsneyman.Sampler
	states  *controlvariate.States
}

// errors runs trajectories first, first + 1, … of one warm start on a profile, and
// returns their errors of each span, in rising order of budgets and, so, falling
// order of trajectories.
func (c tsCandidate) errors(ctx context.Context, probabilities []float64, warm int, spans []tsSpan, first int, streams tsStreams) ([]tsErrors, error) {
	tasks := len(probabilities)
	rollouts := make([][]int32, len(spans))
	for k, s := range spans {
		rollouts[k] = make([]int32, 0, s.draws*tasks)
	}
	outcomes := tsneyman.NewOutcomes(probabilities)
	begin := func(t int) { outcomes.Begin(streams.outcomes.At(uint64(first + t))) }
	for t := range spans[0].draws {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		begin(t)
		c.sampler.Begin(outcomes, warm, streams.choices.At(uint64(first+t)))
		for k, s := range spans {
			if t >= s.draws {
				break
			}
			c.sampler.Advance(tasks * s.budget)
			rollouts[k] = append(rollouts[k], c.sampler.Rollouts()...)
		}
	}
	all := make([]tsErrors, len(spans))
	for k, s := range spans {
		raw, controlled := c.states.Squares(controlvariate.Trajectories{
			P: probabilities, Warm: warm, Rollouts: rollouts[k], Begin: begin, Pass: outcomes.Pass,
		})
		uniform := uniformMSE(probabilities, s.budget)
		for t := range raw {
			raw[t] /= uniform
			controlled[t] /= uniform
		}
		all[k] = tsErrors{raw, controlled}
	}
	return all, nil
}

// uniformMSE is the mean squared error of Uniform.
func uniformMSE(probabilities []float64, budget int) float64 {
	sum := 0.0
	for _, p := range probabilities {
		sum += p * (1 - p)
	}
	tasks := float64(len(probabilities))
	return sum / (tasks * tasks * float64(budget))
}
