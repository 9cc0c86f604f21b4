package systems

import (
	"context"
	"fmt"

	"speceval/internal/fleet/virtual"
	"speceval/internal/measurement"
	"speceval/internal/profile"
	"speceval/internal/seed"
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

// simulatedSeconds is what a repeat of a setting takes of one core, as measured
// in a run of the shipped experiment.
const simulatedSeconds = 0.04

// simulatedUnit executes the setting under a virtual clock.
func (s *setting) simulatedUnit() dag.Unit {
	u := dag.Unit{
		ID:         simulatedKind + "/" + s.id(),
		Config:     s.config("systems.repeats"),
		Seed:       s.seed().Label(),
		Sources:    []dag.Source{s.Simulated.Source},
		Needs:      []dag.Ref{plansRef},
		Outputs:    []string{s.runsFile(simulatedKind), s.requestsFile(simulatedKind)},
		Provenance: measurement.Simulated,
		Run:        s.simulate,
		Cost:       simulatedSeconds * float64(s.Simulated.Repeats),
	}
	s.feed(&u)
	return u
}

// simulate is the unit. Of requests it keeps those of the first repeat: the
// others come out again from the seed.
func (s *setting) simulate(ctx context.Context, job *dag.Job) error {
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
	for _, e := range all {
		o, err := e.simulate(ctx)
		if err != nil {
			return fmt.Errorf("%s, repeat %d: %w", e.strategy.Name, e.repeat, err)
		}
		runs = append(runs, o.row(measurement.Simulated))
		if e.repeat == 0 {
			requests = append(requests, o.requests(false)...)
		}
	}
	if err := writeRows(job, s.requestsFile(simulatedKind), requestSchema, requests); err != nil {
		return err
	}
	return writeRows(job, s.runsFile(simulatedKind), measurement.RunSchema, runs)
}

// simulate executes the strategy on a simulated worker. Lengths are drawn anew
// for every execution, as servers would make them.
func (e execution) simulate(ctx context.Context) (outcome, error) {
	lengths := e.lengthsAt
	if lengths == (seed.Seed{}) {
		lengths = e.seed().Index(e.budget).Child(e.strategy.Name).Index(e.repeat)
	}
	settings, err := e.Simulated.Worker(e.profile, e.accepts(), lengths)
	if err != nil {
		return outcome{}, err
	}
	engine, err := virtual.New(settings)
	if err != nil {
		return outcome{}, err
	}
	o, err := e.run(ctx, engine, e.coupledRewards())
	if err != nil {
		return o, err
	}
	return o, o.check()
}
