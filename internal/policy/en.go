package policy

import (
	"context"

	"speceval/internal/exante"
	"speceval/internal/seed"
	"speceval/internal/sweep"
)

// EN is Tuned EN: a continuation by the empirical variances of the pilot (paper,
// Eq. 16), designed in hindsight on the profiles themselves (Eq. 17).
var EN = &Policy{
	Name: "tuned_en", Label: "Tuned EN", Macro: "EN", Donors: None, PaperTable: 1,
	TwoStage: &TwoStage{
		Folded: func(s Setting) []float64 { return enScores(s.M) },
	},
	Design: Design{Unit: "en", Seconds: func(int) float64 { return 0.4 }, OnProfile: enCoefficients},
}

// enScores returns EN's scores S(m−S) for the folded counts S = 0, …, ⌊m/2⌋,
// without the common factor 1/[m(m+1)] (paper, Eq. 16).
func enScores(m int) []float64 {
	var scores []float64
	for j := range m/2 + 1 {
		scores = append(scores, float64(j*(m-j)))
	}
	return scores
}

// enCoefficients estimates EN's continuation coefficient C on one profile
// (paper, Eq. 17) for every candidate and batch of draws: [candidate][batch].
// All candidates share nested paths.
func enCoefficients(ctx context.Context, probabilities []float64, cs exante.Candidates, draws int, random seed.Stream) ([][]float64, error) {
	tasks, rollouts := len(probabilities), cs.LongestPilot()
	coefficients := make([][]float64, len(cs))
	for k := range coefficients {
		coefficients[k] = make([]float64, Batches(draws))
	}
	var continuation sweep.Symmetric
	err := sweep.Each(ctx, probabilities, draws, rollouts, sweep.OneStream(random), func(sw *sweep.Sweep, first int) error {
		for m := 1; m <= rollouts; m++ {
			sw.Advance()
			which := cs.WithPilot(m)
			continuation.Prepare(enScores(m), tasks, tasks*(cs.LargestBudget()-m))
			for draw := range sw.Draws() {
				batch := batchOf(first+draw, draws)
				for _, k := range which {
					coefficients[k][batch] += continuation.Value(sw, draw, cs[k].Budget)
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
// by one at most.
func batchOf(draw, draws int) int {
	n := Batches(draws)
	return ((draw+1)*n - 1) / draws
}

// batchSize returns the number of draws in a batch.
func batchSize(batch, draws int) int {
	n := Batches(draws)
	return (batch+1)*draws/n - batch*draws/n
}
