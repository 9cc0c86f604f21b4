package main

import (
	"fmt"

	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/method/controller"
	"speceval/method/estimate"
	"speceval/method/informed"
	"speceval/method/neyman"
)

// Policies, as they are called in tables. Those that know something are in stages.
const (
	hbn         = "HBN"
	inStages    = "Staged HBN"
	wellKnown   = "Informed HBN"
	misinformed = "Misinformed HBN" // by an adversary
	misled      = "Misled HBN"      // by a donor that is right but of a tenth of the tasks
	uniform     = "Uniform"
)

// plan is how a policy spends a budget. Uniform's is a pilot and nothing else.
type plan struct {
	policy         string
	budget, pilots int // rollouts per task
	weight         float64
	fractions      []float64 // of what is left, by stage after the pilot; nil: all
}

// uniformly is Uniform's plan for a budget.
func uniformly(budget int) plan {
	return plan{policy: uniform, budget: budget, pilots: budget, weight: 1}
}

// donors are what the policy knows of a profile: others where they help, an adversary
// where they do not.
func (p plan) donors(of profile.Profile, others []profile.Profile) (all []informed.Donor, err error) {
	switch p.policy {
	case wellKnown:
	case misinformed:
		others = []profile.Profile{adversary(of)}
	case misled:
		others = []profile.Profile{mostlyRight(of)}
	default:
		return nil, nil
	}
	for _, o := range others {
		d := informed.Donor{Name: o.Name(), Passes: o.PassCounts}
		for range o.PassCounts {
			d.Rollouts = append(d.Rollouts, o.TestedK)
		}
		if len(d.Passes) != of.N() {
			return nil, fmt.Errorf("%s has %d tasks, %s %d", o.Name(), len(d.Passes), of.Name(), of.N())
		}
		all = append(all, d)
	}
	return all, nil
}

// simulator draws evaluations of one profile: by the program's own controller, one
// rollout after the other. It belongs to one goroutine.
type simulator struct {
	prior    *neyman.Prior
	known    *informed.Prior // nil: nothing
	settings controller.Settings
	rewards  rewards
	ps       []float64
	seen     [][]float64 // rewards by task
	tasks    []estimate.Task
}

func newSimulator(prior *neyman.Prior, t *tally) (*simulator, error) {
	n := t.profile.N()
	s := &simulator{
		prior: prior, rewards: t.rewards, ps: make([]float64, n), seen: make([][]float64, n), tasks: make([]estimate.Task, n),
		settings: controller.Settings{
			Policy: controller.Sync, Tasks: n, Budget: t.plan.budget, Pilots: t.plan.pilots, Weight: t.plan.weight, Fractions: t.plan.fractions,
		},
	}
	for i := range s.ps {
		s.ps[i] = t.profile.P(i)
	}
	if t.plan.policy == uniform {
		s.settings.Policy = controller.Uniform
		return s, nil
	}
	donors, err := t.plan.donors(t.profile, t.others)
	if err != nil || len(donors) == 0 {
		s.settings.Prior = controller.Cold(prior)
		return s, err
	}
	s.known, err = informed.New(n, donors)
	s.settings.Prior = controller.Informed(s.known)
	return s, err
}

// evaluate draws an evaluation and estimates the mean by it.
func (s *simulator) evaluate(random *seed.Stream) (estimate.Mean, error) {
	c, err := controller.New(s.settings)
	if err != nil {
		return estimate.Mean{}, err
	}
	for i := range s.seen {
		s.seen[i] = s.seen[i][:0]
	}
	for !c.Done() {
		id, ok := c.Next()
		if !ok {
			return estimate.Mean{}, fmt.Errorf("no rollout to ask for, and %v is not done", s.settings.Policy)
		}
		reward := s.rewards.draw(s.ps[id.Task], random)
		s.seen[id.Task] = append(s.seen[id.Task], reward)
		if _, err := c.Rewarded(id, reward); err != nil {
			return estimate.Mean{}, err
		}
	}
	s.count(c.Observed())
	if s.known != nil {
		return estimate.Informed(s.prior, s.known, s.tasks)
	}
	return estimate.Of(s.prior, s.tasks)
}

// count makes stages of the rewards that were seen. Uniform has none but one.
func (s *simulator) count(stages []controller.Stage) {
	for i, rewards := range s.seen {
		t := &s.tasks[i]
		t.Stages = t.Stages[:0]
		if stages == nil {
			t.Stages = append(t.Stages, sum(rewards, 1))
		}
		for _, stage := range stages {
			n := stage.Sizes[i]
			t.Stages = append(t.Stages, sum(rewards[:n], stage.Weights[i]))
			rewards = rewards[n:]
		}
	}
}

// sum is a stage of some rewards.
func sum(rewards []float64, weight float64) estimate.Stage {
	s := estimate.Stage{Rollouts: len(rewards), Weight: weight}
	for _, r := range rewards {
		s.Rewards += r
		s.Squares += r * r
	}
	return s
}

// equivalent is the number of rollouts per task by which Uniform has the variance of the
// evaluation that was last drawn, by the true variances of rewards.
func (s *simulator) equivalent() float64 {
	single, own := 0.0, 0.0
	for i, t := range s.tasks {
		v := s.rewards.variance(s.ps[i])
		single += v
		for _, stage := range t.Stages {
			if stage.Rollouts > 0 {
				own += v * stage.Weight * stage.Weight / float64(stage.Rollouts)
			}
		}
	}
	return single / own
}
