package systems

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"speceval/internal/fleet/virtual"
	"speceval/internal/policy"
	"speceval/internal/policy/pilot"
	"speceval/internal/policy/seed"
	"speceval/internal/results/measurement"
	"speceval/internal/servers/router"
	"speceval/internal/store/group"
	"speceval/internal/store/profile"
	"speceval/method/controller"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// Simulated is the simulated fleet.
type Simulated struct {
	Repeats int        // executions of every strategy in a setting
	Source  dag.Source // what it was calibrated by
	// Knows reports whether it has been calibrated for a pair.
	Knows func(p pair.Pair) bool
	// Worker is a worker that serves a profile's model at an average budget, the
	// lengths of its answers drawn from a branch of the seed tree.
	Worker func(p profile.Profile, budget int, lengths seed.Seed) (virtual.Settings, error)
}

// What a repeat of a setting takes of one core for each rollout, of which a task has eight more
// than the budget: under the strategies of the paper, and under the timed policies.
const (
	simulatedSeconds = 4.7e-6
	stagedSeconds    = 1.4e-5
)

// simulation is a unit that executes the setting under the virtual clock.
func (s *setting) simulation(kind string, plans dag.Ref, cost float64) dag.Unit {
	u := s.unit(kind, plans, "systems.repeats")
	u.Sources = append(u.Sources, s.Simulated.Source)
	u.Provenance, u.Cost = measurement.Simulated, cost*float64(s.pair.N()*(s.budget+8))
	return u
}

// simulatedUnit executes the strategies of the paper. Of requests it keeps those of the
// first repeat: the others come out again from the seed.
func (s *setting) simulatedUnit() dag.Unit {
	u := s.simulation(simulatedKind, plansRef, simulatedSeconds*float64(s.Simulated.Repeats))
	u.Run = func(ctx context.Context, job *dag.Job) error {
		p, err := s.plan(job)
		if err != nil {
			return err
		}
		all, err := s.executions(job, p, s.Simulated.Repeats)
		if err != nil {
			return err
		}
		var runs []measurement.Run
		var requests []measurement.Request
		var memory []router.Request
		for _, e := range all {
			o, err := e.simulate(ctx, &memory)
			if err != nil {
				return fmt.Errorf("%s, repeat %d: %w", e.strategy.Name, e.repeat, err)
			}
			runs = append(runs, o.row(measurement.Simulated))
			if e.repeat == 0 {
				requests = append(requests, o.requests(false)...)
			}
		}
		return s.write(job, simulatedKind, runs, requests)
	}
	return u
}

// simulate executes the strategy on a simulated worker. Lengths are drawn anew
// for every execution, as servers would make them. The outcome's requests are in the given
// memory, and hold until the next one.
func (e execution) simulate(ctx context.Context, memory *[]router.Request) (outcome, error) {
	settings, err := e.Simulated.Worker(e.profile, e.accepts(), e.lengths)
	if err != nil {
		return outcome{}, err
	}
	engine, err := virtual.New(settings)
	if err != nil {
		return outcome{}, err
	}
	o, err := e.run(ctx, router.Settings{Engine: engine, Reward: e.coupledRewards(), Requests: *memory})
	if err != nil {
		return o, err
	}
	*memory = o.record.Requests
	return o, o.check()
}

// stagedUnit executes the timed policies in the setting, and Uniform at the budgets that
// their variances are worth.
func (s *setting) stagedUnit() dag.Unit {
	u := s.simulation(stagedKind, stagedPlansRef, stagedSeconds*float64(s.stagedRepeats()))
	u.Outputs = u.Outputs[:1]
	pair.Feed(&u, pair.Siblings(s.Pairs, s.pair)...)
	u.Run = s.timeStaged
	return u
}

// stagedRepeats is how often the timed policies are executed: half as often as those of
// the paper, since there are many of them.
func (s *setting) stagedRepeats() int { return (s.Simulated.Repeats + 1) / 2 }

// stagedRuns makes the executions of a setting.
type stagedRuns struct {
	*setting
	*subject
	memory   []router.Request
	siblings []profile.Profile
	known    map[*policy.Donors]controller.Prior // of the repeat at hand
	rows     []measurement.PolicyRun
}

// timeStaged is the unit. There are no plans where the profile is degenerate.
func (s *setting) timeStaged(ctx context.Context, job *dag.Job) error {
	plans, err := dag.ReadRows[stagedPlan](job, stagedPlansFile)
	if err != nil {
		return err
	}
	plans = slices.DeleteFunc(plans, func(p stagedPlan) bool { return p.settingKey != s.key() })
	r := stagedRuns{setting: s, known: map[*policy.Donors]controller.Prior{}}
	if r.subject, err = s.subject(job); err != nil {
		return err
	}
	if r.siblings, err = pair.Profiles(job, pair.Siblings(s.Pairs, s.pair)); err != nil {
		return err
	}
	for repeat := range s.stagedRepeats() {
		if err := r.repeat(ctx, plans, repeat); err != nil {
			return fmt.Errorf("repeat %d: %w", repeat, err)
		}
	}
	return dag.WriteRows(job, s.runsFile(stagedKind), measurement.BenefitSchema, r.rows)
}

// repeat executes every policy once, and Uniform at all budgets that they are worth.
func (r *stagedRuns) repeat(ctx context.Context, plans []stagedPlan, repeat int) error {
	maps.DeleteFunc(r.known, func(d *policy.Donors, _ controller.Prior) bool { return d.Rollouts > 0 })
	var worth []int
	for _, p := range plans {
		of := policy.Timed.Find(policy.Key{Name: p.Policy, Donors: p.Donors})
		prior, err := r.prior(of.Donors, repeat)
		if err != nil {
			return err
		}
		stages, err := of.InStages.Plan(r.profile.N(), r.budget, int(p.Pilots), p.Weight)
		if err != nil {
			return err
		}
		strategy := policy.HBNAsync
		e := execution{
			setting: r.setting, plan: plan{Pilots: p.Pilots}, subject: r.subject,
			strategy: strategy, repeat: repeat, rewards: measurement.Coupled, stages: stages, prior: prior,
			lengths: r.seed().Index(r.budget).Child(p.Policy).Child(p.Donors).Child(strategy.Name).Index(repeat),
		}
		o, err := e.simulate(ctx, &r.memory)
		if err != nil {
			return fmt.Errorf("%s: %w", of.Key(), err)
		}
		is := measurement.Of{Policy: p.Policy, Donors: p.Donors, Equivalent: p.Equivalent}
		r.rows = append(r.rows, measurement.PolicyRun{Of: is, Run: o.row(measurement.Simulated)})
		worth = append(worth, int(p.Equivalent))
	}
	slices.Sort(worth)
	return r.uniforms(ctx, slices.Compact(worth), repeat)
}

// prior is the prior of a policy with some donors in a repeat: where they are drawn, each
// repeat has its own.
func (r *stagedRuns) prior(donors *policy.Donors, repeat int) (controller.Prior, error) {
	if known := r.known[donors]; known != nil {
		return known, nil
	}
	sources := r.siblings
	switch {
	case donors == policy.None:
		sources = nil
	case !donors.Siblings:
		sources = []profile.Profile{r.profile}
	}
	random := r.seed().Index(r.budget).Child("donors").Child(donors.Name).Index(repeat).Stream()
	prior, err := donors.Prior(r.profile, sources, pilot.InTurn(&random))
	if err != nil {
		return nil, err
	}
	r.known[donors] = controller.Informed(prior)
	return r.known[donors], nil
}

// uniforms executes Uniform at some budgets. Those with the same worker, which are all
// unless the router is as published, share their rollouts.
func (r *stagedRuns) uniforms(ctx context.Context, budgets []int, repeat int) error {
	lengths := r.seed().Index(r.budget).Child(stagedKind).Child(policy.UniformEquivalent.Name).Index(repeat)
	workers, n := map[int]virtual.Settings{}, r.profile.N()
	for _, b := range budgets {
		var err error
		if workers[b], err = r.Simulated.Worker(r.profile, b, lengths); err != nil {
			return err
		}
	}
	for _, alike := range group.By(budgets, func(b int) time.Duration { return workers[b].Handling }) {
		runs, err := virtual.Uniform(ctx, workers[alike[0]], n, alike)
		if err != nil {
			return err
		}
		for k, run := range runs { // rows of what a run took, and no more
			r.rows = append(r.rows, measurement.PolicyRun{
				Of: measurement.Of{Policy: policy.Uniform.Name, Donors: policy.Uniform.Donors.Name, Equivalent: int32(alike[k])},
				Run: measurement.Run{
					Benchmark: r.profile.Benchmark, Model: r.profile.Model, NTasks: int32(n), ReferenceBudget: int32(r.budget), Budget: int32(alike[k]),
					Strategy: policy.UniformEquivalent.Name, Provenance: measurement.Simulated, Rewards: measurement.Coupled, Repeat: int32(repeat),
					Time: run.Time.Seconds(), Accepted: int32(n * alike[k]),
					UsefulTokens: run.Tokens.Sequence, UsefulCompletion: run.Tokens.Completion, UsefulPairs: run.Tokens.Pairs,
				},
			})
		}
	}
	return nil
}
