package main

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"speceval/data"
	"speceval/internal/fleet/workload"
	"speceval/internal/pilot"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/method/design"
	"speceval/method/informed"
	"speceval/method/staged"
)

// study is what is tried, and how precisely.
type study struct {
	budgets []int
	most    int // stages, the pilot among them
	workers []worker
	each    int // profiles of a benchmark
	few     int // of all of them, the first so many; 0: all

	draws, panels, repeats, parallel int
	seed                             uint64

	all   []profile.Profile
	fleet *workload.Workload
	cold  colds
}

// colds are the designs without donors, which profiles of one size share.
type colds struct {
	sync.Mutex
	plans map[cell]staged.Plan
}

// knows is what evaluations may know beforehand, in the order of the tables.
var knows = []*policy.Donors{policy.None, policy.Siblings}

// cell is a design: of a budget, with what is known, in so many stages. Tasks are those
// of a design without donors, and 0 in results.
type cell struct {
	budget int
	known  *policy.Donors
	stages int
	tasks  int
}

// result is what was found on one profile.
type result struct {
	profile  profile.Profile
	variance map[cell]float64 // over Uniform's
	times    map[timedCell]times
}

// do studies the profiles.
func (s *study) do(ctx context.Context) (results []result, err error) {
	if s.all, err = profile.Parse(data.Profiles(), data.ProfilesName); err != nil {
		return nil, err
	}
	if s.fleet, err = workload.Parse(data.FleetModels(), data.FleetLengths()); err != nil {
		return nil, err
	}
	s.cold.plans = map[cell]staged.Plan{}
	sample := s.sample()
	results = make([]result, len(sample))
	faults := make([]error, len(sample))
	places := make(chan struct{}, max(1, s.parallel))
	var group sync.WaitGroup
	for i, p := range sample {
		group.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			if results[i], faults[i] = s.on(ctx, p); faults[i] != nil {
				faults[i] = fmt.Errorf("%s: %w", p.Name(), faults[i])
			}
		})
	}
	group.Wait()
	for _, err := range faults {
		if err != nil {
			return nil, err
		}
	}
	return results, nil
}

// sample is some profiles of each benchmark, whose models take turns from benchmark to
// benchmark, so that all are as frequent.
func (s *study) sample() (sample []profile.Profile) {
	of := map[string][]profile.Profile{}
	var benchmarks []string
	for _, p := range s.all {
		if p.VarianceSum() == 0 {
			continue
		}
		if of[p.Benchmark] == nil {
			benchmarks = append(benchmarks, p.Benchmark)
		}
		of[p.Benchmark] = append(of[p.Benchmark], p)
	}
	for k, benchmark := range benchmarks {
		models := of[benchmark]
		for turn := range min(s.each, len(models)) {
			sample = append(sample, models[(k+turn*max(1, len(models)/max(1, s.each)))%len(models)])
		}
	}
	if s.few > 0 {
		sample = sample[:min(s.few, len(sample))]
	}
	return sample
}

// on studies one profile.
func (s *study) on(ctx context.Context, p profile.Profile) (result, error) {
	r := result{profile: p, variance: map[cell]float64{}, times: map[timedCell]times{}}
	at := seed.Root(s.seed).Child("stages").Child(p.Name())
	e, err := s.executions(p, at.Child("executions"))
	if err != nil {
		return r, err
	}
	for _, known := range knows {
		prior, err := s.prior(p, known)
		if err != nil {
			return r, err
		}
		for _, b := range s.budgets {
			if err := e.uniform(ctx, b); err != nil {
				return r, err
			}
			for k := 2; k <= s.most; k++ {
				c := cell{budget: b, known: known, stages: k}
				plan, err := s.plan(ctx, prior, c)
				if err != nil {
					return r, err
				}
				if r.variance[c], err = s.replay(p, prior, b, plan, at.Child("replay")); err != nil {
					return r, err
				}
				if err := e.timed(ctx, &r, c, plan, prior); err != nil {
					return r, err
				}
			}
		}
	}
	return r, nil
}

// prior is the one that knows the donors.
func (s *study) prior(p profile.Profile, known *policy.Donors) (*informed.Prior, error) {
	var sources []profile.Profile
	if known.Siblings {
		for _, other := range s.all {
			if other.Benchmark == p.Benchmark && other.Model != p.Model {
				sources = append(sources, other)
			}
		}
	}
	counts, err := known.Count(p, sources, nil)
	if err != nil {
		return nil, err
	}
	return informed.New(p.N(), counts)
}

// plan is the design of a cell.
func (s *study) plan(ctx context.Context, prior *informed.Prior, c cell) (staged.Plan, error) {
	if c.known == policy.None {
		c.tasks = prior.Tasks()
		s.cold.Lock()
		defer s.cold.Unlock()
		if plan, made := s.cold.plans[c]; made {
			return plan, nil
		}
	}
	d, err := design.ComputeInStages(ctx, design.StagesSettings{
		Prior: prior, Budget: c.budget, Stages: c.stages, Panels: s.panels, Replicates: 1, Seed: s.seed,
	})
	if c.known == policy.None {
		s.cold.plans[c] = d.Plan
	}
	return d.Plan, err
}

// replay is the mean variance of evaluations under a plan, over Uniform's. All plans
// meet the same draws.
func (s *study) replay(p profile.Profile, prior *informed.Prior, budget int, plan staged.Plan, at seed.Seed) (float64, error) {
	stages, err := staged.New(p.N(), budget, plan)
	if err != nil {
		return 0, err
	}
	run := pilot.NewTrial(stages, prior.Posterior())
	ps := make([]float64, p.N())
	for i := range ps {
		ps[i] = p.P(i)
	}
	sum := 0.0
	for draw := range s.draws {
		random := at.Stream().At(uint64(draw))
		variance, err := run.Run(ps, nil, &random)
		if err != nil {
			return 0, err
		}
		sum += variance
	}
	return float64(budget) * sum / float64(s.draws) / p.VarianceSum(), nil
}

// sum is the sum of some numbers of the results.
func sum(results []result, of func(result) float64) (all float64) {
	for _, r := range results {
		all += of(r)
	}
	return all
}

// cells are all of the study, in the order of the tables.
func (s *study) cells(known *policy.Donors, budget int) (all []cell) {
	for k := 2; k <= s.most; k++ {
		all = append(all, cell{budget: budget, known: known, stages: k})
	}
	return slices.Clip(all)
}
