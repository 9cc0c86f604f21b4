package drift

import (
	"errors"
	"fmt"

	"speceval/internal/seed"
	"speceval/method/informed"
)

// Explanation is whether donors that are other models explain a pilot.
type Explanation struct {
	Cold float64 // posterior weight of the nodes that know nothing of donors

	// P is how often they have at least this weight after such a pilot of a model drawn
	// from the nodes of donors. Left is whether it is at most FalseAlarms.
	P    float64
	Left bool
}

// Explained tests whether the prior's donors explain a pilot of so many rollouts of every
// task. Of models as the prior has them given that its donors are of use, Left is true in
// at most 1%. It is an error if the prior has no donors, or if passes are no counts of its
// tasks.
func Explained(prior *informed.Prior, rollouts int, passes []int, s Settings) (Explanation, error) {
	s, err := s.check()
	if err != nil {
		return Explanation{}, err
	}
	if prior.Donors() == 0 {
		return Explanation{}, errors.New("drift: a prior without donors explains nothing by them")
	}
	if rollouts < 1 {
		return Explanation{}, fmt.Errorf("drift: a pilot of %d rollouts", rollouts)
	}
	posterior := prior.Posterior()
	pilot := make([]int, prior.Tasks())
	for i := range pilot {
		pilot[i] = rollouts
	}
	var e Explanation
	if e.Cold, err = cold(posterior, pilot, passes); err != nil {
		return Explanation{}, err
	}
	stream := seed.Root(s.Seed).Child("drift").Child("donors").Stream()
	ps, drawn, heavier := make([]float64, len(pilot)), make([]int, len(pilot)), 1
	for range s.Draws {
		prior.DrawByDonors(&stream, ps)
		for i, p := range ps {
			drawn[i] = binomial(&stream, rollouts, p)
		}
		weight, err := cold(posterior, pilot, drawn)
		if err != nil {
			return Explanation{}, err
		}
		if weight >= e.Cold*(1-rounding) {
			heavier++
		}
	}
	e.P = float64(heavier) / float64(s.Draws+1)
	e.Left = e.P <= FalseAlarms
	return e, nil
}

// cold is the posterior weight of the cold nodes after a pilot.
func cold(posterior *informed.Posterior, rollouts, passes []int) (float64, error) {
	posterior.Restart()
	if err := posterior.Observe(rollouts, passes); err != nil {
		return 0, err
	}
	_, _, none := posterior.Shares()
	return none, nil
}

// binomial draws how many of n rollouts pass.
func binomial(random *seed.Stream, n int, p float64) int {
	passes := 0
	for range n {
		if random.Float64() < p {
			passes++
		}
	}
	return passes
}
