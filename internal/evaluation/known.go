package evaluation

import (
	"context"
	"fmt"
	"math"
	"slices"

	"speceval/internal/policy/pilot"
	"speceval/internal/policy/seed"
	"speceval/method/design"
	"speceval/method/drift"
	"speceval/method/estimate"
	"speceval/method/informed"
	"speceval/method/neyman"
	"speceval/method/staged"
)

// Known is the worth of donors to an evaluation.
type Known struct {
	Donors []Weighed `json:"donors"`
	Mean   float64   `json:"mean"` // posterior weight of the mean of all donors
	None   float64   `json:"none"` // and of no donor

	// Saved is the share of the rollouts that the same stages without donors would need
	// more for this error, simulated on tasks as all that is known has them. It is
	// negative if donors did harm.
	Saved float64 `json:"saved"`
}

// Weighed is a donor with what it weighed.
type Weighed struct {
	Name     string  `json:"name"`
	Source   string  `json:"source"`
	Tasks    int     `json:"n_tasks"`  // that it has rollouts of
	Rollouts int     `json:"rollouts"` // of these, in all
	Weight   float64 `json:"weight"`   // posterior weight, given all rollouts
	Drift    *Drift  `json:"drift,omitempty"`
}

// Drift is whether the model is still that of a donor, by the pilot. Of a model that has
// not changed Moved is true in one case of a hundred at most.
type Drift struct {
	P     float64 `json:"p"`
	Moved bool    `json:"moved"`
	Shift float64 `json:"shift"` // of the mean since then
	Error float64 `json:"error"` // standard error of Shift if nothing has changed
}

// known sets what the donors of the setup were worth.
func (r *Result) known(s *Setup) error {
	if len(s.Donors) == 0 {
		return nil
	}
	priors, err := s.Priors(Part{Tasks: len(s.TaskIDs)})
	if err != nil {
		return err
	}
	rollouts, passes := make([]int, r.Tasks), make([]int, r.Tasks)
	for i, t := range r.Rows {
		all := estimate.Sum(t.Stages)
		rollouts[i], passes[i] = all.Rollouts, int(math.Round(all.Rewards))
	}
	posterior := priors[0].Posterior()
	if err := posterior.Observe(rollouts, passes); err != nil {
		return err
	}
	k := &Known{}
	var weights []float64
	weights, k.Mean, k.None = posterior.Shares()
	for at, d := range s.Donors {
		w := Weighed{Name: d.Name, Source: d.Source, Weight: weights[at]}
		for _, n := range d.Rollouts {
			w.Rollouts += n
			if n > 0 {
				w.Tasks++
			}
		}
		k.Donors = append(k.Donors, w)
	}
	if s.Extends == nil {
		if k.Saved, err = s.saved(priors[0], posterior.Mixture()); err != nil {
			return err
		}
	}
	r.Known = k
	err = k.drift(s, r.Rows)
	r.Notes = append(r.Notes, k.warnings()...)
	return err
}

// drift tests whether the pilot is of a model that is still what its earlier rollouts say, by the
// parts of each donor that were decided beforehand.
func (k *Known) drift(s *Setup, rows []Task) error {
	if s.Extends != nil {
		return nil
	}
	pilot := make([]drift.Outcome, len(rows))
	for i, t := range rows {
		first := t.Stages[0]
		if first.Squares != first.Rewards {
			return nil // counts do not distinguish graded rewards
		}
		pilot[i] = drift.Outcome{Passes: int(first.Rewards), Rollouts: first.Rollouts}
	}
	for at, d := range s.Donors {
		var references []drift.Reference
		for _, c := range d.Fixed {
			if !d.Same || slices.Max(c.Rollouts) == 0 {
				continue
			}
			of := drift.Reference{Name: d.Source}
			for i, n := range c.Rollouts {
				of.Tasks = append(of.Tasks, drift.Outcome{Passes: c.Passes[i], Rollouts: n})
			}
			references = append(references, of)
		}
		if len(references) == 0 {
			continue
		}
		v, err := drift.Same(references, pilot, drift.Draws, savedSeed)
		if err != nil {
			return err
		}
		k.Donors[at].Drift = &Drift{P: v.P, Moved: v.Moved, Shift: v.By[0].Shift, Error: v.By[0].Error}
	}
	return nil
}

// warnings are the notes for users about the donors.
func (k *Known) warnings() (all []string) {
	for _, d := range k.Donors {
		if d.Drift != nil && d.Drift.Moved {
			all = append(all, fmt.Sprintf("the model is not what it was in %s: its mean has moved by %+.3f ± %.3f (p = %.4f; an unchanged model gets this warning in 1 of 100 evaluations). The estimate is unbiased all the same; what is known of it helps less", d.Source, d.Drift.Shift, d.Drift.Error, d.Drift.P))
		}
	}
	return all
}

// Precision of what donors have saved: draws of all tasks, of which there are fewer
// where tasks are many.
const (
	savedTasks = 6400
	savedSeed  = 42
)

// saved compares evaluations with donors and without on tasks drawn from what is known of
// them by now.
func (s *Setup) saved(known *informed.Prior, found neyman.Mixture) (float64, error) {
	tasks := found.Tasks
	cold, err := informed.New(tasks, nil)
	if err != nil {
		return 0, err
	}
	stages := 1 + max(1, len(s.Design.Fractions))
	d, err := design.ComputeInStages(context.Background(), design.StagesSettings{
		Prior: informed.Suite{cold}, Budget: s.Budget, Stages: stages, Seed: savedSeed, Replicates: 2, Panels: min(32, max(2, savedTasks/(4*tasks))),
	})
	if err != nil {
		return 0, fmt.Errorf("what donors have saved: %w", err)
	}
	own := staged.Plan{Pilots: s.Design.Pilots, Weight: s.Design.Weight, Fractions: d.Plan.Fractions}
	with, err := s.simulate(known, own, found)
	if err != nil {
		return 0, err
	}
	without, err := s.simulate(cold, d.Plan, found)
	return without/with - 1, err
}

// simulate is the mean of Σ v·Σ c²/n over evaluations under a plan and a prior.
func (s *Setup) simulate(prior *informed.Prior, plan staged.Plan, found neyman.Mixture) (float64, error) {
	stages, err := staged.New(found.Tasks, s.Budget, plan)
	if err != nil {
		return 0, err
	}
	run, sum := pilot.NewTrial(stages, prior.Posterior()), 0.0
	ps := make([]float64, found.Tasks)
	for k := range min(64, max(4, savedTasks/found.Tasks)) {
		stream := seed.Root(savedSeed).Child("saved").Index(k).Stream() // the same for both
		found.Draw(&stream, ps)
		variance, err := run.Run(ps, pilot.Independent(&stream))
		if err != nil {
			return 0, err
		}
		sum += variance
	}
	return sum, nil
}
