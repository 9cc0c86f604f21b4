package systems

import (
	"context"
	"slices"

	"speceval/internal/coupled"
	"speceval/internal/measurement"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/router"
	"speceval/internal/seed"
	"speceval/method/controller"
	"speceval/method/neyman"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// setting is a pair at a budget: what strategies are compared in.
type setting struct {
	*Settings
	pair   pair.Pair
	budget int // b
}

// execution is one run of a strategy.
type execution struct {
	*setting
	plan
	profile  profile.Profile
	digest   string // that coupled rewards follow from
	strategy *policy.Strategy
	repeat   int

	rewards   string // measurement.Coupled or measurement.Scored
	replicate int    // of the identities: 0 under coupled rewards, else the run's own

	inStages  *inStages // nil: the two stages of the plan, under the reference prior
	lengthsAt seed.Seed // the lengths of simulated answers are drawn from; zero: by the strategy
}

// executions lists the runs of a setting in the order in which they are made.
// Without a plan there are none.
// The order of strategies is drawn once for a profile; every repeat begins it
// with another one, so that none always comes first.
func (s *setting) executions(job *dag.Job, p *plan, repeats int) ([]execution, error) {
	if p == nil {
		return nil, nil
	}
	known, err := s.pair.Profile(job)
	if err != nil {
		return nil, err
	}
	order := slices.Clone(policy.Strategies)
	random := s.seed().Child("order").Stream()
	for i := len(order) - 1; i > 0; i-- {
		j := int(random.Float64() * float64(i+1))
		order[i], order[j] = order[j], order[i]
	}
	var all []execution
	for repeat := range repeats {
		for k := range order {
			all = append(all, execution{
				setting: s, plan: *p, profile: known, digest: s.Releases.Digest(known),
				strategy: order[(k+repeat)%len(order)], repeat: repeat, rewards: measurement.Coupled,
			})
		}
	}
	return all, nil
}

// seed is the branch of the seed tree of the setting's pair.
func (s *setting) seed() seed.Seed {
	return seed.Root(s.Seed).Child(name).Child(s.pair.Benchmark).Child(s.pair.Model)
}

// accepts is the budget that the run spends, b or the equivalent one.
func (e execution) accepts() int {
	if e.strategy.Equivalent {
		return e.Equivalent
	}
	return e.budget
}

// controller is the policy, ready to begin.
func (e execution) controller() (*controller.Controller, error) {
	s := controller.Settings{
		Policy: e.strategy.Controller, Tasks: e.profile.N(), Budget: e.accepts(), Pilots: min(e.Pilots, e.accepts()),
		Late: e.AsPublished,
	}
	switch {
	case !e.strategy.HasPilot():
		return controller.New(s)
	case e.inStages != nil:
		p := e.inStages.plan
		s.Weight, s.LeaveOneOut, s.Fractions, s.Prior = p.Weight, p.LeaveOneOut, p.Fractions, e.inStages.prior
	default:
		prior, err := neyman.NewPrior(e.QuadratureOrder)
		if err != nil {
			return nil, err
		}
		s.Prior = controller.Cold(prior)
	}
	s.Order = coupled.Ranks(e.profile.TaskIDs, e.Seed)
	return controller.New(s)
}

// run executes the strategy on an engine, under these rewards.
func (e execution) run(ctx context.Context, engine router.Engine, reward func(controller.ID) bool) (outcome, error) {
	ctl, err := e.controller()
	if err != nil {
		return outcome{}, err
	}
	record, err := router.Run(ctx, router.Settings{
		Controller: ctl, Engine: engine, Reward: router.PassFail(reward), Sparse: e.AsPublished,
	})
	if err != nil {
		return outcome{}, err
	}
	return outcome{e, record}, nil
}

// outcome is an execution and what came of it.
type outcome struct {
	execution
	record *router.Record
}

// identities names the run's rollouts. Under coupled rewards strategies of a
// setting share them, but for the equivalent budget, which is a setting of its
// own; under real ones every run has its own.
func (e execution) identities() coupled.Identities {
	p := coupled.Protocol{
		Profile: e.digest, Budget: e.accepts(), Pilots: e.Pilots, Seed: e.Seed, Sampling: e.Sampling(e.profile.Model),
	}
	if e.strategy.Equivalent {
		p.Reference = e.budget
	}
	return coupled.NewIdentities(p.Fingerprint(), e.profile.TaskIDs, e.Seed).Replicate(e.replicate)
}
