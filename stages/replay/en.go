package replay

import (
	"context"

	"speceval/internal/exante"
	"speceval/internal/seed"
)

// enScores returns EN's scores S(m−S) for the folded counts S = 0, …, ⌊m/2⌋,
// without the common factor 1/[m(m+1)] (paper, Eq. 16).
func enScores(m int) []float64 {
	var scores []float64
	for j := range m/2 + 1 {
		scores = append(scores, float64(j*(m-j)))
	}
	return scores
}

// batches is the number of groups of draws whose means are kept apart, so that
// differences between candidates, which share their draws, have an error too.
const batches = 8

// enCoefficients estimates EN's continuation coefficient C on one profile
// (paper, Eq. 17) for every candidate and batch of draws: [candidate][batch].
// All candidates share nested paths.
func enCoefficients(ctx context.Context, probabilities []float64, cs exante.Candidates, draws int, random seed.Stream) ([][]float64, error) {
	tasks, rollouts := len(probabilities), cs.LongestPilot()
	coefficients := make([][]float64, len(cs))
	for k := range coefficients {
		coefficients[k] = make([]float64, min(batches, draws))
	}
	var policy symmetric
	err := eachSweep(ctx, probabilities, draws, rollouts, oneStream(random), func(sw *sweep, first int) error {
		for m := 1; m <= rollouts; m++ {
			sw.advance()
			which := cs.WithPilot(m)
			policy.prepare(enScores(m), tasks, tasks*(cs.LargestBudget()-m))
			for draw := range sw.draws {
				batch := batchOf(first+draw, draws)
				for _, k := range which {
					coefficients[k][batch] += policy.value(sw, draw, cs[k].Budget)
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	all := 0.0
	for _, p := range probabilities {
		all += p * (1 - p)
	}
	for _, sums := range coefficients {
		for batch := range sums {
			sums[batch] /= all * float64(batchSize(batch, draws))
		}
	}
	return coefficients, nil
}

// batchOf returns the batch of a draw: consecutive draws, in sizes that differ
// by one at most. There are fewer batches when there are fewer draws.
func batchOf(draw, draws int) int {
	n := min(batches, draws)
	return ((draw+1)*n - 1) / draws
}

// batchSize returns the number of draws in a batch.
func batchSize(batch, draws int) int {
	n := min(batches, draws)
	return (batch+1)*draws/n - batch*draws/n
}
