package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"speceval/drills/evaluated"
	drill "speceval/drills/lab"
	process "speceval/drills/lab"
	"speceval/internal/profile"
)

// sizes are how many evaluations there are of each kind.
type sizes struct {
	async     int // of each profile and budget
	uniform   int // of the first profile at the first budget
	sync      int // of the first profile at the first budget, by seeds of HBN-async
	disturbed int // of the first profile at the second budget, by seeds of HBN-async
	losses    int // of each kind of servers
	policies  int // of each arm
}

func (o options) sizes() sizes {
	n := sizes{async: 500, uniform: 500, sync: 100, disturbed: 100, losses: 500, policies: 500}
	if o.small {
		n = sizes{async: 150, uniform: 60, sync: 15, disturbed: 15, losses: 60, policies: 40}
	}
	if o.number > 0 {
		n.async, n.losses, n.policies = o.number, o.number, o.number
	}
	n.sync, n.disturbed = min(n.sync, n.async), min(n.disturbed, n.async)
	return n
}

// overHTTP lets the program evaluate models of known probabilities over HTTP.
func overHTTP(ctx context.Context, o options, stdout io.Writer) error {
	return drill.InFolder(o.dir, stdout, func(dir string) error {
		l, err := publishedLab(o, dir, stdout)
		if err != nil {
			return err
		}
		if err := l.serve(ctx); err != nil {
			return err
		}
		defer l.fleet.Kill()
		predicted, err := l.replay(ctx)
		if err != nil {
			return err
		}
		n := o.sizes()
		begin := time.Now()
		fmt.Fprintf(stdout, "fleet: %d evaluations at a time, each on %d replicas of %d requests, wrong answers %d times as long\n", o.jobs, replicas, places, slowWrong)
		all, err := l.async(ctx, n.async)
		if err != nil {
			return err
		}
		first, second := all[0], all[1]
		plain := &series{profile: first.profile, policy: evaluated.Uniform, budget: first.budget}
		if err := l.make(ctx, plain, n.uniform); err != nil {
			return err
		}
		sync := &series{profile: first.profile, policy: evaluated.Sync, budget: first.budget}
		if err := l.make(ctx, sync, n.sync); err != nil {
			return err
		}
		kills, err := l.disturb(ctx, second, n.disturbed)
		if err != nil {
			return err
		}
		made := len(all)*n.async + n.uniform + n.sync + n.disturbed
		fmt.Fprintf(stdout, "%d evaluations in %.0f s, %.1f a second\n\n", made, time.Since(begin).Seconds(), float64(made)/time.Since(begin).Seconds())
		var rows []row
		for _, s := range append(all, plain) {
			r, err := rowOf(s, predicted)
			if err != nil {
				return err
			}
			rows = append(rows, r)
		}
		if err := seriesTable(stdout, rows); err != nil {
			return err
		}
		return l.check(rows, sync, first, kills)
	})
}

// replay predicts HBN's variance relative to Uniform's.
func (l *lab) replay(ctx context.Context) (evaluated.Predictions, error) {
	p, err := process.StartProgram(l.path("replay.txt"), nil, l.binary, "run", "replay", "--config", l.config(), "--out", l.replayed())
	if err != nil {
		return nil, err
	}
	defer p.Kill()
	if err := p.Succeed(ctx); err != nil {
		return nil, fmt.Errorf("the replay: %w", err)
	}
	return evaluated.ReadPredictions(l.replayed())
}

// series are evaluations of a profile by one policy and budget, by the seeds from 1
// on.
type series struct {
	profile profile.Profile
	policy  string
	budget  int
	results []*evaluated.Result // by seed

	fast, slow []float64 // pass rates of the halves of pilots that were answered faster and slower
}

// tally sums the series up.
func (s *series) tally() *tally {
	t := &tally{profile: s.profile, plan: plan{budget: s.budget}}
	for _, r := range s.results {
		t.Add(r.Outcome(), s.profile.Mean())
	}
	return t
}

// async makes the evaluations by HBN-async: of every profile at every budget.
func (l *lab) async(ctx context.Context, n int) (all []*series, err error) {
	for _, p := range l.profiles {
		for _, budget := range l.budgets {
			s := &series{profile: p, policy: evaluated.Async, budget: budget}
			begin := time.Now()
			if err := l.make(ctx, s, n); err != nil {
				return nil, err
			}
			t := s.tally()
			ratio, se := t.ratio()
			fmt.Fprintf(l.stdout, "%s at %d: %d evaluations in %.0f s; bias of %+.1f standard errors, coverage %.1f%%, variance %.3f ± %.3f of Uniform's\n",
				p.Benchmark, budget, n, time.Since(begin).Seconds(), t.BiasScore(), 100*t.Coverage(), ratio, se)
			all = append(all, s)
		}
	}
	return all, nil
}
