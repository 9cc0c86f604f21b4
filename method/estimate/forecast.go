package estimate

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"speceval/method/neyman"
)

// Forecast is what an evaluation would be like, of tasks of which something is
// known.
type Forecast struct {
	StandardError float64 // of the estimate: the root of its expected square
	Uniform       float64 // of Uniform's at the same budget
}

// Plan is how an evaluation is to spend its budget.
type Plan struct {
	Budget int     // b, average rollouts per task
	Pilots int     // m, at least 1 and less than Budget
	Weight float64 // w, of the pilot
}

// Predict expects the standard error of an evaluation by HBN, given what
// is known of the same tasks: over draws of the tasks' probabilities
// from that, and of a pilot of each. Its own error is about 3% with 256 draws.
func Predict(prior *neyman.Prior, earlier neyman.Mixture, p Plan, draws int, source rand.Source) (Forecast, error) {
	switch {
	case draws < 1:
		return Forecast{}, errors.New("a forecast needs a draw at least")
	case p.Pilots < 1 || p.Pilots >= p.Budget:
		return Forecast{}, fmt.Errorf("a pilot of %d rollouts per task does not fit a budget of %d", p.Pilots, p.Budget)
	}
	n := earlier.Tasks
	posterior, work := prior.Pilot(p.Pilots), prior.NewWork()
	ps, scores := make([]float64, n), make([]float64, n)
	successes := make([]int, n)
	var spread, shrunk float64 // Σ v and Σ v/L, over all draws
	for range draws {
		earlier.Draw(source, ps)
		counts := make([]int, p.Pilots+1)
		for i, q := range ps {
			successes[i] = binomial(p.Pilots, q, source)
			counts[successes[i]]++
		}
		by := posterior.Scores(counts, work)
		for i, s := range successes {
			scores[i] = by.At(s)
		}
		allocation, err := neyman.Allocate(scores, n*(p.Budget-p.Pilots))
		if err != nil {
			return Forecast{}, err
		}
		for i, q := range ps {
			spread += q * (1 - q)
			shrunk += q * (1 - q) / float64(allocation[i])
		}
	}
	w := p.Weight
	tasks := float64(n) * math.Sqrt(float64(draws))
	return Forecast{
		StandardError: math.Sqrt(spread*w*w/float64(p.Pilots)+shrunk*(1-w)*(1-w)) / tasks,
		Uniform:       math.Sqrt(spread/float64(p.Budget)) / tasks,
	}, nil
}

// binomial draws the number of successes among so many rollouts.
func binomial(rollouts int, p float64, source rand.Source) int {
	s := 0
	for range rollouts {
		if float64(source.Uint64()>>11)*0x1p-53 < p {
			s++
		}
	}
	return s
}
