package design

import (
	"context"
	"fmt"

	"speceval/internal/exante"
	"speceval/internal/seed"
	"speceval/internal/trial"
	"speceval/method/informed"
	"speceval/method/staged"
)

// InStages is a design with more stages than two, or for tasks of which something is
// known beforehand.
type InStages struct {
	Tasks  int // N
	Budget int // b, average rollouts per task, pilots included

	Plan   staged.Plan // without leave-one-out weights
	Risk   float64     // expected variance of the estimate relative to Uniform's at b
	RiskSE float64     // Monte Carlo standard error of Risk; NaN of a single replicate
}

// StagesSettings are what such a design is for, and the precision that it is computed
// with.
type StagesSettings struct {
	Prior  *informed.Prior // of the tasks; without donors the reference prior
	Budget int             // b, from 2 to MostBudget
	Stages int             // the pilot among them, from 2 to MostStages

	Panels     int    // of a replicate, up to 2^24; 0: 128
	Replicates int    // independent of one another, up to 1024; 0: 8
	Seed       uint64 // of the panels
}

// MostStages is the largest number of stages.
const MostStages = 64

const panelsInStages = 128

// check says what is wrong with the settings, if anything.
func (s StagesSettings) check() error {
	switch {
	case s.Prior == nil:
		return fmt.Errorf("design: stages need a prior of the tasks")
	case s.Stages < 2 || s.Stages > MostStages:
		return fmt.Errorf("design: %d stages: want 2 to %d, the pilot among them", s.Stages, MostStages)
	}
	return Settings{Tasks: max(2, s.Prior.Tasks()), Budget: s.Budget, Panels: s.Panels, Replicates: s.Replicates}.check()
}

// ComputeInStages returns the design of least risk. Each stage after the pilot is half
// as large again as the one before; the pilot size is compared on panels of tasks drawn
// from the prior, on which evaluations are simulated, and its weight is the best for it
// (paper, Eqs. 11 and 12, with all that comes after the pilot in the place of the
// continuation). It is an error if a setting is out of its range, or if the context
// ends before.
func ComputeInStages(ctx context.Context, s StagesSettings) (InStages, error) {
	if err := s.check(); err != nil {
		return InStages{}, err
	}
	if s.Panels == 0 {
		s.Panels = panelsInStages
	}
	if s.Replicates == 0 {
		s.Replicates = paperReplicates
	}
	cs := trial.Candidates([]int{s.Budget})
	coefficients := make([][]float64, len(cs))
	for replicate := range s.Replicates {
		random := seed.Root(s.Seed).Child("design in stages").Index(replicate).Stream()
		estimates, err := trial.Coefficients(ctx, s.Prior, cs, s.Stages-1, s.Panels, random)
		if err != nil {
			return InStages{}, fmt.Errorf("design in %d stages: %w", s.Stages, err)
		}
		for k, c := range estimates {
			coefficients[k] = append(coefficients[k], c)
		}
	}
	d := InStages{Tasks: s.Prior.Tasks(), Budget: s.Budget}
	for _, r := range exante.Rate(cs, coefficients) {
		if r.Selected {
			d.Plan = staged.Plan{Pilots: r.M, Weight: r.Weight, Fractions: trial.Fractions(s.Stages - 1)}
			d.Risk, d.RiskSE = r.Risk, r.RiskSE
		}
	}
	return d, nil
}
