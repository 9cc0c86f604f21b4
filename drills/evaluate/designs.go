package main

import (
	"context"

	"speceval/internal/profile"
	"speceval/method/design"
	"speceval/method/informed"
)

// shape is what a design depends on.
type shape struct{ tasks, budget int }

// stages of policies that have more than two.
const stages = 5

// designs are the plans for profiles of these sizes, the two stages of HBN first, then
// more; the small ones have been searched for with fewer panels. Policies that know
// something have the plan of those that do not: it holds for them as well, if it does not
// suit them as well.
func designs(ctx context.Context, profiles []profile.Profile, small bool, seed uint64) (map[shape][]plan, error) {
	plans := map[shape][]plan{}
	for _, p := range profiles {
		for _, budget := range budgets {
			of := shape{p.N(), budget}
			if _, known := plans[of]; known {
				continue
			}
			var err error
			if plans[of], err = of.designs(ctx, small, seed); err != nil {
				return nil, err
			}
		}
	}
	return plans, nil
}

func (s shape) designs(ctx context.Context, small bool, seed uint64) ([]plan, error) {
	settings := design.Settings{Tasks: s.tasks, Budget: s.budget, QuadratureOrder: quadratureOrder, Seed: seed}
	if small {
		settings.Panels, settings.Replicates = 512, 2
	}
	two, err := design.Compute(ctx, settings)
	if err != nil {
		return nil, err
	}
	prior, err := informed.New(s.tasks, nil)
	if err != nil {
		return nil, err
	}
	more, err := design.ComputeInStages(ctx, design.StagesSettings{Prior: prior, Budget: s.budget, Stages: stages, Panels: 32, Replicates: 2, Seed: seed})
	if err != nil {
		return nil, err
	}
	all := []plan{{hbn, s.budget, two.Pilots, two.Weight, nil}}
	for _, policy := range []string{inStages, wellKnown, misinformed, misled} {
		all = append(all, plan{policy, s.budget, more.Plan.Pilots, more.Plan.Weight, more.Plan.Fractions})
	}
	return append(all, uniformly(s.budget)), nil
}
