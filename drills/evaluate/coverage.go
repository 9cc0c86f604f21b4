package main

import (
	"context"
	"errors"
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

// coverage draws evaluations of the published profiles and of others that were made to
// hurt, and holds the estimates and intervals to the truth.
func coverage(ctx context.Context, o options, stdout io.Writer) error {
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
	made, laws := hardProfiles()
	plans, err := designs(ctx, append(slices.Clone(profiles), made...), o.small, o.seed)
	if err != nil {
		return err
	}
	root := seed.Root(o.seed).Child("drill").Child("coverage")
	published, hurt := newTallies(profiles, plans, o.small), hardTallies(made, laws, plans, o.small, root)
	fmt.Fprintf(stdout, "coverage: evaluations of %d published profiles and of %d made ones, drawn from seed %d\n\n", len(profiles), len(made), o.seed)
	if err := drawAll(ctx, prior, append(slices.Clone(published), hurt...), root); err != nil {
		return err
	}
	rows := summaries(published)
	if err := coverageTable(stdout, rows); err != nil {
		return err
	}
	if err := worstTable(stdout, published); err != nil {
		return err
	}
	if err := hardTable(stdout, hurt); err != nil {
		return err
	}
	return errors.Join(checkCoverage(rows, stdout), checkHard(hurt, stdout))
}

// evaluations is how many are drawn of a profile by a policy at a budget: fewer by
// policies that take long.
func evaluations(policy string, small bool) int {
	n := 1000
	if policy != hbn && policy != uniform {
		n = 200
	}
	if small {
		n /= 10
	}
	return n
}

// newTallies are empty ones of every published profile, policy and budget.
func newTallies(profiles []profile.Profile, plans map[shape][]plan, small bool) (all []*tally) {
	for _, p := range profiles {
		others := slices.DeleteFunc(siblings(p, profiles), func(o profile.Profile) bool { return !slices.Equal(o.TaskIDs, p.TaskIDs) })
		for _, budget := range budgets {
			for _, plan := range plans[shape{p.N(), budget}] {
				if plan.policy == wellKnown && len(others) == 0 {
					continue
				}
				all = append(all, &tally{profile: p, rewards: passes, others: others, plan: plan, number: evaluations(plan.policy, small)})
			}
		}
	}
	return all
}

// drawAll fills the tallies, on all processors. Random streams belong to what is
// drawn, so that the outcome does not depend on who draws it.
func drawAll(ctx context.Context, prior *neyman.Prior, tallies []*tally, root seed.Seed) error {
	slices.SortStableFunc(tallies, func(a, b *tally) int { return b.work() - a.work() })
	next := make(chan *tally)
	errs := make([]error, runtime.GOMAXPROCS(0))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var workers sync.WaitGroup
	for i := range errs {
		workers.Go(func() {
			for t := range next {
				if errs[i] = t.draw(ctx, prior, root); errs[i] != nil {
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

// work is about how long the tally takes: those first that take longest.
func (t *tally) work() int { return t.number * t.profile.N() * t.plan.budget }

// draw fills a tally with evaluations.
func (t *tally) draw(ctx context.Context, prior *neyman.Prior, root seed.Seed) error {
	s, err := newSimulator(prior, t)
	if err != nil {
		return err
	}
	streams := root.Child(t.profile.Name()).Child(t.plan.policy).Index(t.plan.budget).Stream()
	truth := t.profile.Mean()
	for i := range t.number {
		if err := ctx.Err(); err != nil {
			return err
		}
		random := streams.At(uint64(i))
		m, err := s.evaluate(&random)
		if err != nil {
			return fmt.Errorf("%s by %s at %d: %w", t.profile.Name(), t.plan.policy, t.plan.budget, err)
		}
		t.Add(evaluated.Outcome{Estimate: m.Value, StandardError: m.StandardError, Low: m.Low, High: m.High}, truth)
		t.equivalents.add(m.Uniform, s.equivalent(), float64(t.plan.budget))
	}
	return nil
}
