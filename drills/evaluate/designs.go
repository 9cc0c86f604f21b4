package main

import (
	"context"

	"speceval/internal/profile"
	"speceval/method/design"
)

// shape is what a design depends on.
type shape struct{ tasks, budget int }

// designs are HBN's plans for profiles of these sizes; the small ones have been
// searched for with fewer panels.
func designs(ctx context.Context, profiles []profile.Profile, small bool, seed uint64) (map[shape]plan, error) {
	settings := design.Settings{QuadratureOrder: quadratureOrder, Seed: seed}
	if small {
		settings.Panels, settings.Replicates = 512, 2
	}
	plans := map[shape]plan{}
	for _, p := range profiles {
		for _, budget := range budgets {
			of := shape{p.N(), budget}
			if _, known := plans[of]; known {
				continue
			}
			settings.Tasks, settings.Budget = of.tasks, of.budget
			d, err := design.Compute(ctx, settings)
			if err != nil {
				return nil, err
			}
			plans[of] = plan{hbn, budget, d.Pilots, d.Weight}
		}
	}
	return plans, nil
}
