//go:build drill

package evaluations_test

import (
	"cmp"
	"math"
	"slices"

	"speceval/drills/drill"
	"speceval/internal/pilot"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/method/controller"
	"speceval/method/design"
	"speceval/method/estimate"
	"speceval/method/informed"
	"speceval/method/neyman"
)

// Policies of evaluations that are drawn, as they are called in tables. Those with donors
// are in stages.
const (
	hbn         = "HBN"
	inStages    = "Staged HBN"
	wellKnown   = "Informed HBN"
	misinformed = "Misinformed HBN" // by an adversary
	misled      = "Misled HBN"      // by a donor that is right except on a tenth of the tasks
	plain       = "Uniform"
)

// policiesDrawn are those of the tables, in their order.
var policiesDrawn = []string{hbn, inStages, wellKnown, misinformed, misled, plain}

// budgets are the paper's, in rollouts per task.
var budgets = []int{8, 16, 32, 64}

const (
	quadratureOrder = 16 // the paper's, of the reference prior
	stages          = 5  // of policies that have more than two
)

// plan is how a policy spends a budget. Uniform's is a pilot and nothing else.
type plan struct {
	policy         string
	budget, pilots int // rollouts per task
	weight         float64
	fractions      []float64 // of what is left, by stage after the pilot; nil: all
}

// shape is what a design depends on.
type shape struct{ tasks, budget int }

// plansFor are the plans for profiles of these sizes, the two stages of HBN first, then
// more; the small ones have been searched for with fewer panels. Policies with donors
// have the plan of those without: it holds for them as well, if it does not suit them
// as well.
func plansFor(l *drill.Lab, profiles []profile.Profile) map[shape][]plan {
	plans := map[shape][]plan{}
	for _, p := range profiles {
		for _, budget := range budgets {
			of := shape{p.N(), budget}
			if _, known := plans[of]; !known {
				plans[of] = of.plans(l)
			}
		}
	}
	return plans
}

func (s shape) plans(l *drill.Lab) []plan {
	settings := design.Settings{Tasks: s.tasks, Budget: s.budget, QuadratureOrder: quadratureOrder, Seed: drill.Seed()}
	if l.Small {
		settings.Panels, settings.Replicates = 512, 2
	}
	two, err := design.Compute(l.Ctx, settings)
	l.OK(err)
	prior, err := informed.New(s.tasks, nil)
	l.OK(err)
	more, err := design.ComputeInStages(l.Ctx, design.StagesSettings{
		Prior: prior, Budget: s.budget, Stages: stages, Panels: 32, Replicates: 2, Seed: drill.Seed(),
	})
	l.OK(err)
	all := []plan{{hbn, s.budget, two.Pilots, two.Weight, nil}}
	for _, policy := range []string{inStages, wellKnown, misinformed, misled} {
		all = append(all, plan{policy, s.budget, more.Plan.Pilots, more.Plan.Weight, more.Plan.Fractions})
	}
	return append(all, plan{plain, s.budget, s.budget, 1, nil})
}

// donors are those of the policy for a profile: others where they help, an adversary
// where they do not.
func (p plan) donors(of profile.Profile, others []profile.Profile) (all []informed.Donor) {
	switch p.policy {
	case wellKnown:
	case misinformed:
		others = []profile.Profile{adversary(of)}
	case misled:
		others = []profile.Profile{mostlyRight(of)}
	default:
		return nil
	}
	for _, o := range others {
		all = append(all, informed.Donor{Name: o.Name(), Passes: o.PassCounts, Rollouts: slices.Repeat([]int{o.TestedK}, o.N())})
	}
	return all
}

// earlier is an evaluation of the model that a profile is of: so many rollouts of each
// task, drawn from it.
func earlier(p profile.Profile, rollouts int, random *seed.Stream) profile.Profile {
	e := p
	e.TestedK, e.PassCounts = rollouts, nil
	for i := range p.N() {
		e.PassCounts = append(e.PassCounts, pilot.Binomial(rollouts, p.P(i), random))
	}
	return e
}

// siblings are the profiles of other models on the benchmark of a profile.
func siblings(p profile.Profile, published []profile.Profile) (all []profile.Profile) {
	for _, other := range published {
		if other.Benchmark == p.Benchmark && other.Model != p.Model {
			all = append(all, other)
		}
	}
	return all
}

// byUncertainty are the tasks of a profile in the order of a factor times their variance:
// by 1 the most certain first, by -1 the most uncertain.
func byUncertainty(p profile.Profile, factor float64) []int {
	order := make([]int, p.N())
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(factor*p.P(a)*(1-p.P(a)), factor*p.P(b)*(1-p.P(b))) })
	return order
}

// adversary is a profile with the counts of another one at the wrong tasks: the more
// uncertain a task is, the more certain it seems to be.
func adversary(p profile.Profile) profile.Profile {
	order := byUncertainty(p, 1)
	wrong := p
	wrong.Model, wrong.PassCounts = "adversary", make([]int, p.N())
	for k, i := range order {
		wrong.PassCounts[i] = p.PassCounts[order[len(order)-1-k]]
	}
	return wrong
}

// mostlyRight is another profile except on a tenth of the tasks, the most uncertain ones,
// which always pass in it.
func mostlyRight(p profile.Profile) profile.Profile {
	partly := p
	partly.Model, partly.PassCounts = "partly", slices.Clone(p.PassCounts)
	for _, i := range byUncertainty(p, -1)[:max(1, p.N()/10)] {
		partly.PassCounts[i] = p.TestedK
	}
	return partly
}

// cell is evaluations of one profile by one plan, which are drawn.
type cell struct {
	profile profile.Profile
	rewards rewards
	others  []profile.Profile // of the same tasks, for policies with donors
	plan    plan
	number  int // of evaluations to draw
	stats
	equivalents equivalents
}

// draw draws the evaluations of a cell.
func (c *cell) draw(l *drill.Lab, prior *neyman.Prior, root seed.Seed) {
	s := newSimulator(l, prior, c)
	streams := root.Child(c.profile.Name()).Child(c.plan.policy).Index(c.plan.budget).Stream()
	truth := c.profile.Mean()
	for i := range c.number {
		l.OK(l.Ctx.Err())
		random := streams.At(uint64(i))
		m := s.evaluate(&random)
		c.add(m, truth)
		c.equivalents.add(m.Uniform, s.equivalent(), float64(c.plan.budget))
	}
}

// simulator draws evaluations of one cell: by the program's own controller, one rollout
// after the other. It belongs to one goroutine.
type simulator struct {
	*drill.Lab
	prior    *neyman.Prior
	informed *informed.Prior // nil: no donors
	settings controller.Settings
	rewards  rewards
	ps       []float64
	seen     [][]float64 // rewards by task
	tasks    []estimate.Task
}

func newSimulator(l *drill.Lab, prior *neyman.Prior, c *cell) *simulator {
	n := c.profile.N()
	s := &simulator{
		Lab: l, prior: prior, rewards: c.rewards, ps: make([]float64, n), seen: make([][]float64, n), tasks: make([]estimate.Task, n),
		settings: controller.Settings{
			Policy: controller.Sync, Tasks: n, Budget: c.plan.budget, Pilots: c.plan.pilots, Weight: c.plan.weight,
			Fractions: c.plan.fractions, Prior: controller.Cold(prior),
		},
	}
	for i := range s.ps {
		s.ps[i] = c.profile.P(i)
	}
	if c.plan.policy == plain {
		s.settings.Policy, s.settings.Prior = controller.Uniform, nil
	}
	if donors := c.plan.donors(c.profile, c.others); len(donors) > 0 {
		var err error
		s.informed, err = informed.New(n, donors)
		l.OK(err)
		s.settings.Prior = controller.Informed(s.informed)
	}
	return s
}

// evaluate draws an evaluation and estimates the mean by it.
func (s *simulator) evaluate(random *seed.Stream) estimate.Mean {
	c, err := controller.New(s.settings)
	s.OK(err)
	for i := range s.seen {
		s.seen[i] = s.seen[i][:0]
	}
	for !c.Done() {
		id, ok := c.Next()
		if !ok {
			s.Fatalf("no rollout to ask for, and %v is not done", s.settings.Policy)
		}
		reward := s.rewards.draw(s.ps[id.Task], random)
		s.seen[id.Task] = append(s.seen[id.Task], reward)
		if _, err := c.Rewarded(id, reward); err != nil {
			s.Fatal(err)
		}
	}
	s.count(c.Observed())
	var m estimate.Mean
	if s.informed != nil {
		m, err = estimate.Informed(s.prior, s.informed, s.tasks)
	} else {
		m, err = estimate.Of(s.prior, s.tasks)
	}
	s.OK(err)
	return m
}

// count makes stages of the rewards that were seen. Uniform has one.
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
		s.Add(r)
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

// equivalents sums up what Uniform would have needed, as evaluations state it.
type equivalents struct {
	number, covered       int
	away                  float64 // sum of the logs of the stated over the true number
	losses, claims, wrong int     // evaluations that Uniform would have beaten; gains that were claimed; both
}

// add counts the equivalent that one evaluation states, of which the truth is known.
func (e *equivalents) add(stated estimate.Equivalent, truth, budget float64) {
	loss, claim := truth < budget*(1-1e-9), stated.Verdict(budget) > 0
	e.join(equivalents{
		1, one(stated.Low <= truth*(1+1e-9) && truth <= stated.High*(1+1e-9)), math.Log(stated.Value / truth), one(loss), one(claim), one(loss && claim),
	})
}

// join adds another sum.
func (e *equivalents) join(o equivalents) {
	e.number, e.covered, e.away = e.number+o.number, e.covered+o.covered, e.away+o.away
	e.losses, e.claims, e.wrong = e.losses+o.losses, e.claims+o.claims, e.wrong+o.wrong
}

// coverage is the share of intervals that have the truth in them.
func (e *equivalents) coverage() float64 { return float64(e.covered) / float64(max(1, e.number)) }
