package trial

import (
	"context"
	"math"

	"speceval/internal/exante"
	"speceval/internal/seed"
	"speceval/method/informed"
	"speceval/method/staged"
)

// growth is how much larger each stage after the pilot is than the one before. On
// the paper's profiles 1.3 to 2 are alike at every budget and number of stages.
const growth = 1.5

// Fractions are those of a plan with so many stages after the pilot.
func Fractions(after int) []float64 {
	fractions := make([]float64, after)
	rest, size := 0.0, math.Pow(growth, float64(after-1))
	for k := after - 1; k >= 0; k-- {
		rest += size
		fractions[k] = size / rest
		size /= growth
	}
	return fractions
}

// Candidates are the pilot sizes that are compared for some budgets: fewer than for
// two stages, since the risk is flatter.
func Candidates(budgets []int) exante.Candidates {
	var cs exante.Candidates
	for _, b := range budgets {
		for _, m := range []int{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64} {
			if m < b && m*m <= 8*b {
				cs = append(cs, exante.Candidate{Budget: b, M: m})
			}
		}
	}
	return cs
}

// Coefficients estimates the coefficient C of what comes after the pilot, the mean of
// Σ v·Σ c²/n over Σ v with weights that add up to one, on panels of tasks drawn from
// a prior, for every candidate: the risk is b·{w²/m + (1−w)²·C} as in two stages
// (paper, Eq. 11). All candidates share the panels.
func Coefficients(ctx context.Context, prior *informed.Prior, cs exante.Candidates, after, panels int, random seed.Stream) ([]float64, error) {
	trials := make([]*Trial, len(cs))
	posterior := prior.Posterior()
	for k, c := range cs {
		stages, err := staged.New(prior.Tasks(), c.Budget, staged.Plan{Pilots: c.M, Fractions: Fractions(after)})
		if err != nil {
			return nil, err
		}
		trials[k] = New(stages, posterior)
	}
	sums, all := make([]float64, len(cs)), 0.0
	ps := make([]float64, prior.Tasks())
	for panel := range panels {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		own := random.At(uint64(panel))
		prior.Draw(&own, ps)
		for _, p := range ps {
			all += p * (1 - p)
		}
		for k, t := range trials {
			rollouts := own // the same for all
			sum, err := t.Run(ps, nil, &rollouts)
			if err != nil {
				return nil, err
			}
			sums[k] += sum
		}
	}
	for k, c := range cs {
		if sums[k] /= all; all == 0 { // no panel says anything
			sums[k] = 1 / float64(c.Budget-c.M)
		}
	}
	return sums, nil
}
