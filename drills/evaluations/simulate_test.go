//go:build drill

package evaluations_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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

// plansFor are the plans for a number of tasks, of all policies at all budgets; the small
// ones have been searched for with fewer panels. Policies with donors have the plan of
// those without: it holds for them as well, if it does not suit them as well.
func plansFor(l *drill.Lab, tasks int) (all []plan) {
	prior, err := informed.New(tasks, nil)
	l.OK(err)
	for _, budget := range budgets {
		settings := design.Settings{Tasks: tasks, Budget: budget, QuadratureOrder: quadratureOrder, Seed: drill.Seed()}
		if l.Small {
			settings.Panels, settings.Replicates = 512, 2
		}
		two, err := design.Compute(l.Ctx, settings)
		l.OK(err)
		more, err := design.ComputeInStages(l.Ctx, design.StagesSettings{
			Prior: prior, Budget: budget, Stages: stages, Panels: 32, Replicates: 2, Seed: drill.Seed(),
		})
		l.OK(err)
		for _, policy := range policiesDrawn {
			p := plan{policy, budget, more.Plan.Pilots, more.Plan.Weight, more.Plan.Fractions}
			switch policy {
			case hbn:
				p.pilots, p.weight, p.fractions = two.Pilots, two.Weight, nil
			case plain:
				p.pilots, p.weight, p.fractions = budget, 1, nil
			}
			all = append(all, p)
		}
	}
	return all
}

// donors are those of the policy for a profile: others where they help, an adversary
// where they do not.
func (p plan) donors(of subject) (all []informed.Donor) {
	others := of.others
	switch p.policy {
	case wellKnown:
	case misinformed:
		others = []profile.Profile{adversary(of.profile)}
	case misled:
		others = []profile.Profile{mostlyRight(of.profile)}
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
func byUncertainty(p profile.Profile, factor float64) (order []int) {
	for i := range p.N() {
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(factor*p.P(a)*(1-p.P(a)), factor*p.P(b)*(1-p.P(b))) })
	return order
}

// adversary is a profile with the counts of another one at the wrong tasks: the more
// uncertain a task is, the more certain it seems to be.
func adversary(p profile.Profile) profile.Profile {
	order, counts := byUncertainty(p, 1), make([]int, p.N())
	for k, i := range order {
		counts[i] = p.PassCounts[order[len(order)-1-k]]
	}
	p.Model, p.PassCounts = "adversary", counts
	return p
}

// mostlyRight is another profile except on a tenth of the tasks, the most uncertain ones,
// which always pass in it.
func mostlyRight(p profile.Profile) profile.Profile {
	order := byUncertainty(p, -1)
	p.Model, p.PassCounts = "partly", slices.Clone(p.PassCounts)
	for _, i := range order[:max(1, p.N()/10)] {
		p.PassCounts[i] = p.TestedK
	}
	return p
}

// rewards is the law of a task's rewards, by their mean p.
type rewards struct {
	name     string
	draw     func(p float64, random *seed.Stream) float64
	variance func(p float64) float64
}

// The laws that are tried: passes, the share of three questions that pass, and rewards
// that are spread evenly over all that have the mean in their middle.
var (
	passes = rewards{"passes", pass, func(p float64) float64 { return p * (1 - p) }}
	thirds = rewards{"thirds", func(p float64, random *seed.Stream) float64 {
		return (pass(p, random) + pass(p, random) + pass(p, random)) / 3
	}, func(p float64) float64 { return p * (1 - p) / 3 }}
	even = rewards{"even", func(p float64, random *seed.Stream) float64 {
		return p + min(p, 1-p)*(2*random.Float64()-1)
	}, func(p float64) float64 { return min(p, 1-p) * min(p, 1-p) / 3 }}
)

// pass is 1 with the probability p, and else 0.
func pass(p float64, random *seed.Stream) float64 { return float64(one(random.Float64() < p)) }

// subject is a profile of which evaluations are drawn.
type subject struct {
	profile profile.Profile
	rewards rewards
	others  []profile.Profile // of the same tasks, for policies with donors
}

// some is a number of tasks with one probability, in thousandths.
type some struct{ tasks, p int }

// hard is profiles made to hurt the error, by the law of their rewards: tasks that no
// Beta distribution has, failures that are rare, and few tasks.
var hard = []struct {
	rewards  rewards
	profiles [][]some
}{
	{passes, [][]some{
		{{50, 50}, {50, 950}}, {{15, 20}, {15, 980}}, {{40, 20}, {10, 500}}, {{10, 0}, {10, 500}, {10, 1000}},
		{{90, 0}, {10, 50}}, {{95, 0}, {5, 20}}, {{98, 0}, {2, 500}}, {{50, 0}, {49, 1000}, {1, 500}}, {{97, 1000}, {3, 300}},
		{{100, 990}}, {{30, 990}}, {{30, 900}}, {{200, 30}}, {{10, 100}}, {{10, 500}}, {{5, 500}}, {{3, 500}},
		{{1, 200}, {1, 500}, {1, 900}}, {{2, 500}}, {{1, 300}, {1, 900}},
	}},
	{thirds, [][]some{{{50, 50}, {50, 950}}, {{5, 500}}}},
	{even, [][]some{{{10, 100}, {10, 500}, {10, 900}}, {{20, 0}, {3, 500}}}},
}

// donated is how many rollouts of each task a donor of a made profile has.
const donated = 64

// hardSubjects are the profiles made to hurt. The donor is drawn from the profile.
func hardSubjects(root seed.Seed) (all []subject) {
	for _, law := range hard {
		for _, parts := range law.profiles {
			p := profile.Profile{Benchmark: "hard", TestedK: 1000}
			var names []string
			for _, s := range parts {
				names = append(names, fmt.Sprintf("%d of %g", s.tasks, float64(s.p)/1000))
				for range s.tasks {
					p.TaskIDs = append(p.TaskIDs, fmt.Sprint(len(p.TaskIDs)))
					p.PassCounts = append(p.PassCounts, s.p)
				}
			}
			if p.Model = strings.Join(names, " + "); law.rewards.name != passes.name {
				p.Model += ", " + law.rewards.name
			}
			random := root.Child("donor").Index(len(all)).Stream()
			donor := earlier(p, donated, &random)
			donor.Model = "near"
			all = append(all, subject{p, law.rewards, []profile.Profile{donor}})
		}
	}
	return all
}

// cell is evaluations of one profile by one plan, which are drawn.
type cell struct {
	subject
	plan   plan
	number int // of evaluations to draw
	stats

	// Evaluations by what Uniform would have needed: the stated interval holds it, it is less
	// than was spent, and a gain is claimed though it is.
	equivalent, lost, wrong int
}

// draw draws the evaluations of a cell.
func (c *cell) draw(l *drill.Lab, prior *neyman.Prior, root seed.Seed) {
	settings := controller.Settings{
		Policy: controller.Sync, Tasks: c.profile.N(), Budget: c.plan.budget, Pilots: c.plan.pilots, Weight: c.plan.weight,
		Fractions: c.plan.fractions, Prior: controller.Cold(prior),
	}
	estimated := func(tasks []estimate.Task) (estimate.Mean, error) { return estimate.Of(prior, tasks) }
	if c.plan.policy == plain {
		settings.Policy, settings.Prior = controller.Uniform, nil
	}
	if donors := c.plan.donors(c.subject); len(donors) > 0 {
		known, err := informed.New(c.profile.N(), donors)
		l.OK(err)
		settings.Prior = controller.Informed(known)
		estimated = func(tasks []estimate.Task) (estimate.Mean, error) { return estimate.Informed(prior, known, tasks) }
	}
	streams := root.Child(c.profile.Name()).Child(c.plan.policy).Index(c.plan.budget).Stream()
	for i := range c.number {
		l.OK(l.Ctx.Err())
		random := streams.At(uint64(i))
		tasks := c.evaluate(l, settings, &random)
		m, err := estimated(tasks)
		l.OK(err)
		c.add(m, c.profile.Mean())
		c.compare(m.Uniform, tasks)
	}
}

// evaluate draws an evaluation by the program's own controller, one rollout after the
// other.
func (c *cell) evaluate(l *drill.Lab, settings controller.Settings, random *seed.Stream) (tasks []estimate.Task) {
	run, err := controller.New(settings)
	l.OK(err)
	seen := make([][]float64, settings.Tasks) // rewards by task
	for !run.Done() {
		id, ok := run.Next()
		if !ok {
			l.Fatalf("no rollout to ask for, and %v is not done", settings.Policy)
		}
		reward := c.rewards.draw(c.profile.P(int(id.Task)), random)
		seen[id.Task] = append(seen[id.Task], reward)
		if _, err := run.Rewarded(id, reward); err != nil {
			l.Fatal(err)
		}
	}
	stages := run.Observed()
	if c.plan.policy == plain { // one stage
		all, whole := slices.Repeat([]int{settings.Budget}, settings.Tasks), slices.Repeat([]float64{1}, settings.Tasks)
		stages = []controller.Stage{{Sizes: all, Weights: whole}}
	}
	for i, rewards := range seen {
		var t estimate.Task
		for _, stage := range stages {
			s := estimate.Stage{Rollouts: stage.Sizes[i], Weight: stage.Weights[i]}
			for _, reward := range rewards[:s.Rollouts] {
				s.Add(reward)
			}
			t.Stages, rewards = append(t.Stages, s), rewards[s.Rollouts:]
		}
		tasks = append(tasks, t)
	}
	return tasks
}

// compare counts what an evaluation states of the rollouts per task by which Uniform has
// its variance, which is known by the true variances of rewards.
func (c *cell) compare(stated estimate.Equivalent, tasks []estimate.Task) {
	single, own := 0.0, 0.0
	for i, t := range tasks {
		v := c.rewards.variance(c.profile.P(i))
		single += v
		for _, stage := range t.Stages {
			if stage.Rollouts > 0 {
				own += v * stage.Weight * stage.Weight / float64(stage.Rollouts)
			}
		}
	}
	truth, budget := single/own, float64(c.plan.budget)
	lost := truth < budget*(1-1e-9)
	c.equivalent += one(stated.Low <= truth*(1+1e-9) && truth <= stated.High*(1+1e-9))
	c.lost += one(lost)
	c.wrong += one(lost && stated.Verdict(budget) > 0)
}
