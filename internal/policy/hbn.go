package policy

import (
	"context"

	"speceval/internal/exante"
	"speceval/internal/seed"
	"speceval/internal/sweep"
	"speceval/method/controller"
	"speceval/method/neyman"
)

// HBN is the paper's policy: a continuation by the posterior scores of the
// hierarchical prior (paper, Eqs. 6 to 8), designed beforehand on panels of the
// prior (Eqs. 10 to 12).
var HBN = &Policy{
	Name: "hbn", Label: "HBN", Macro: "HBN", Donors: None, PaperTable: 1,
	TwoStage: &TwoStage{Scores: hbnScores},
	Design: Design{
		Unit: "hbn", Keys: []string{KeyOrder, KeyPanels}, OnPanels: hbnCoefficients,
		Seconds: func(int) float64 { return 2.2 },
	},
}

// hbnScores are the posterior scores. Every node of the quadrature takes part.
func hbnScores(prior *neyman.Prior, s Setting) sweep.Scores {
	posterior, work := prior.Pilot(s.M), prior.NewWork()
	return func(counts []int, scores []float64) {
		quadratic := posterior.Scores(counts, work)
		for successes, n := range counts {
			if n != 0 {
				scores[successes] = quadratic.At(successes)
			}
		}
	}
}

// hbnCoefficients estimates HBN's continuation coefficients C = B/(N·v̄) on one
// replicate of panels (paper, Eq. 10).
func hbnCoefficients(ctx context.Context, p Panels, random seed.Stream) ([][]float64, error) {
	prior, err := neyman.NewPrior(p.Order)
	if err != nil {
		return nil, err
	}
	of := exante.Masses
	panels := p.Draws
	if p.Even {
		of, panels = exante.EvenMasses, p.fewer(p.Draws/4)
	}
	masses, err := of(ctx, prior, p.Candidates, p.Tasks, panels, random)
	p.normalize(masses, neyman.MeanVariance)
	return [][]float64{masses}, err
}

// HBNSync is HBN with a barrier after the pilot.
var HBNSync = &Strategy{
	Name: controller.Sync.String(), Label: "HBN-sync",
	Policy: HBN, Controller: controller.Sync,
}

// HBNAsync is HBN that fills the barrier with speculative rollouts.
var HBNAsync = &Strategy{
	Name: controller.Async.String(), Label: "HBN-async",
	Policy: HBN, Controller: controller.Async,
}
