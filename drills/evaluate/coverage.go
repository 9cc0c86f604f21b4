package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"

	"speceval/data"
	"speceval/drills/evaluated"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/method/neyman"
)

// budgets are the paper's, in rollouts per task.
var budgets = []int{8, 16, 32, 64}

// quadratureOrder is the paper's, of the reference prior.
const quadratureOrder = 16

// coverage draws evaluations of the published profiles, and holds the estimates
// and intervals to the truth.
func coverage(ctx context.Context, o options, stdout io.Writer) error {
	evaluations := 2000
	if o.small {
		evaluations = 200
	}
	all, err := profile.Parse(data.Profiles(), data.ProfilesName)
	if err != nil {
		return err
	}
	profiles, _, err := profile.Evaluated(all)
	if err != nil {
		return err
	}
	prior, err := neyman.NewPrior(quadratureOrder)
	if err != nil {
		return err
	}
	tallies, err := newTallies(ctx, profiles, o)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "coverage: %d evaluations of each of %d profiles by each policy at each budget, drawn from seed %d\n\n", evaluations, len(profiles), o.seed)
	if err := drawAll(ctx, prior, tallies, evaluations, seed.Root(o.seed).Child("drill").Child("coverage")); err != nil {
		return err
	}
	rows := summaries(tallies)
	if err := coverageTable(stdout, rows); err != nil {
		return err
	}
	if err := worstTable(stdout, tallies); err != nil {
		return err
	}
	return checkCoverage(rows, stdout)
}

// newTallies are empty ones of every profile, policy and budget, those first that
// take longest.
func newTallies(ctx context.Context, profiles []profile.Profile, o options) ([]*tally, error) {
	plans, err := designs(ctx, profiles, o.small, o.seed)
	if err != nil {
		return nil, err
	}
	var all []*tally
	for _, p := range profiles {
		for _, budget := range budgets {
			for _, plan := range []plan{plans[shape{p.N(), budget}], uniformly(budget)} {
				all = append(all, &tally{profile: p, plan: plan})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *tally) int { return b.profile.N()*b.plan.budget - a.profile.N()*a.plan.budget })
	return all, nil
}

// drawAll fills the tallies, on all processors. Random streams belong to what is
// drawn, so that the outcome does not depend on who draws it.
func drawAll(ctx context.Context, prior *neyman.Prior, tallies []*tally, evaluations int, root seed.Seed) error {
	next := make(chan *tally)
	errs := make([]error, runtime.GOMAXPROCS(0))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var workers sync.WaitGroup
	for i := range errs {
		workers.Go(func() {
			for t := range next {
				if errs[i] = t.draw(ctx, prior, evaluations, root); errs[i] != nil {
					cancel()
					return
				}
			}
		})
	}
feed:
	for _, t := range tallies {
		select {
		case next <- t:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	workers.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// draw fills a tally with evaluations.
func (t *tally) draw(ctx context.Context, prior *neyman.Prior, evaluations int, root seed.Seed) error {
	s := newSimulator(prior, t.profile, t.plan)
	streams := root.Child(t.profile.Name()).Child(t.plan.policy).Index(t.plan.budget).Stream()
	truth := t.profile.Mean()
	for i := range evaluations {
		if err := ctx.Err(); err != nil {
			return err
		}
		random := streams.At(uint64(i))
		m, err := s.evaluate(&random)
		if err != nil {
			return fmt.Errorf("%s by %s at %d: %w", t.profile.Name(), t.plan.policy, t.plan.budget, err)
		}
		t.Add(evaluated.Outcome{Estimate: m.Value, StandardError: m.StandardError, Low: m.Low, High: m.High}, truth)
	}
	return nil
}
