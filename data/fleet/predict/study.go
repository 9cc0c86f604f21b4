package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"speceval/data"
	"speceval/internal/coupled"
	"speceval/internal/fleet/virtual"
	"speceval/internal/fleet/workload"
	"speceval/internal/flops"
	"speceval/internal/measurement"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/router"
	"speceval/internal/seed"
	"speceval/method/controller"
	"speceval/method/neyman"
)

// The published workers and runs.
const (
	replicas   = 8
	window     = 32
	masterSeed = 42
)

// pilots are the published pilot sizes by budget; N = 19 has one more at 64.
var pilots = map[int]int{8: 4, 16: 6, 32: 10, 64: 16}

// strategies are those that are executed at the budget.
var strategies = []*policy.Strategy{policy.UniformAtBudget, policy.HBNSync, policy.HBNAsync}

// execution is what counts of one.
type execution struct {
	seconds, useful, wasted float64
	accepted, extra         int
}

// suite is one execution of every strategy on every profile at a budget: by profile,
// then by strategy.
type suite [][]execution

// study is what suites are made of.
type study struct {
	calibration   *workload.Workload
	repeats       int
	profiles      []profile.Profile
	architectures []flops.Architecture // by profile
	releases      coupled.Releases
	prior         *neyman.Prior
	published     map[int]suite // by budget
}

func newStudy(calibration *workload.Workload, repeats int) (*study, error) {
	s := &study{calibration: calibration, repeats: repeats, published: map[int]suite{}}
	all, err := profile.Parse(data.Profiles(), data.ProfilesName)
	if err != nil {
		return nil, err
	}
	if s.releases, err = coupled.ParseReleases(data.ProfileSHA256(), data.ProfileSHA256Name, all); err != nil {
		return nil, err
	}
	kept, _, err := profile.Evaluated(all)
	if err != nil {
		return nil, err
	}
	architectures, err := flops.Parse(data.Architectures(), data.ArchitecturesName)
	if err != nil {
		return nil, err
	}
	for _, p := range kept {
		if !calibration.Knows(p.Benchmark, p.Model) {
			continue // a trial of the fit's may have some models only
		}
		i := slices.IndexFunc(architectures, func(a flops.Architecture) bool { return a.Model == p.Model })
		if i < 0 {
			return nil, fmt.Errorf("%s has no architecture of %s", data.ArchitecturesName, p.Model)
		}
		s.profiles, s.architectures = append(s.profiles, p), append(s.architectures, architectures[i])
	}
	if s.prior, err = neyman.NewPrior(16); err != nil {
		return nil, err
	}
	return s, s.readPublished()
}

// readPublished reads the published suite.
func (s *study) readPublished() error {
	rows, err := measurement.Parse(data.Measurements(), data.MeasurementsName)
	if err != nil {
		return err
	}
	for b := range pilots {
		s.published[b] = make(suite, len(s.profiles))
		for i := range s.profiles {
			s.published[b][i] = make([]execution, len(strategies))
		}
	}
	for _, m := range rows {
		i := slices.IndexFunc(s.profiles, func(p profile.Profile) bool { return p.Benchmark == m.Benchmark && p.Model == m.Model })
		k := slices.IndexFunc(strategies, func(s *policy.Strategy) bool { return s.Name == m.Strategy })
		if i >= 0 && k >= 0 {
			s.published[int(m.ReferenceBudget)][i][k] = execution{m.TimeSeconds, m.UsefulFLOPs, m.WastedFLOPs, int(m.AcceptedRollouts), int(m.ExtraRollouts)}
		}
	}
	return nil
}

// looping are the numbers of the profiles whose model does not think: their answers
// loop now and then, by chance.
func (s *study) looping() []int {
	var numbers []int
	for i, p := range s.profiles {
		if m, _ := s.calibration.Model(p.Model); m.ThinkingTokens == 0 {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

// suites are simulated at a budget.
func (s *study) suites(ctx context.Context, budget int) ([]suite, error) {
	all := make([]suite, s.repeats)
	for r := range all {
		all[r] = make(suite, len(s.profiles))
	}
	faults := make([]error, len(s.profiles))
	next := atomic.Int64{}
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(faults); i = int(next.Add(1)) - 1 {
				for r := 0; r < len(all) && faults[i] == nil; r++ {
					all[r][i], faults[i] = s.executions(ctx, i, budget, r)
				}
			}
		})
	}
	workers.Wait()
	return all, errors.Join(faults...)
}

// executions are one of every strategy on a profile, answers having lengths of their
// own in each.
func (s *study) executions(ctx context.Context, i, budget, repeat int) ([]execution, error) {
	p := s.profiles[i]
	model, law, err := s.calibration.Law(p)
	if err != nil {
		return nil, err
	}
	rewards := coupled.NewRewards(p, s.releases.Digest(p), masterSeed)
	m := pilots[budget]
	if p.N() == 19 && budget == 64 {
		m = 17
	}
	all := make([]execution, len(strategies))
	for k, strategy := range strategies {
		settings := controller.Settings{
			Policy: strategy.Controller, Tasks: p.N(), Budget: budget, Pilots: m, Order: coupled.Ranks(p.TaskIDs, masterSeed),
		}
		if strategy.HasPilot() {
			settings.Prior = controller.Cold(s.prior)
		}
		c, err := controller.New(settings)
		if err != nil {
			return nil, err
		}
		lengths := seed.Root(masterSeed).Child("predict").Child(p.Benchmark).Child(p.Model).Index(budget).Child(strategy.Name).Index(repeat)
		engine, err := virtual.New(virtual.Settings{
			Timing: model.Timing, Replicas: replicas, Window: window, MaxSequences: model.MaxSequences,
			Lengths: law.Sampler(lengths), Handling: model.HandlingOf(p.N(), budget), Computation: model.Computation,
		})
		if err != nil {
			return nil, err
		}
		record, err := router.Run(ctx, router.Settings{Controller: c, Engine: engine, Reward: router.PassFail(rewards.Reward)})
		if err != nil {
			return nil, err
		}
		useful, wasted := record.Tokens()
		all[k] = execution{
			record.Time.Seconds(), s.architectures[i].Total(useful), s.architectures[i].Total(wasted),
			record.Count(router.Accepted), record.Extra(),
		}
	}
	return all, nil
}
