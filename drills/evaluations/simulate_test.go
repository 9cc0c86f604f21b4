//go:build drill

package evaluations_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"speceval/drills/drill"
	"speceval/internal/policy/pilot"
	"speceval/internal/policy/seed"
	"speceval/internal/store/profile"
	"speceval/method/controller"
	"speceval/method/design"
	"speceval/method/estimate"
	"speceval/method/informed"
	"speceval/method/neyman"
)

// Policies of evaluations that are drawn, as they are called in tables.
const (
	hbn      = "HBN"
	inStages = "Staged HBN"
	plain    = "Uniform"
)

// policiesDrawn are all of them. Those with donors are in stages.
var policiesDrawn = []struct {
	name   string
	donors func(of subject) []profile.Profile // nil: none
}{
	{name: hbn},
	{name: inStages},
	{name: "Informed HBN", donors: func(of subject) []profile.Profile { return of.others }},
	{name: "Misinformed HBN", donors: func(of subject) []profile.Profile { return []profile.Profile{adversary(of.profile)} }},
	{name: "Misled HBN", donors: func(of subject) []profile.Profile { return []profile.Profile{mostlyRight(of.profile)} }},
	{name: plain},
}

// budgets are the paper's, in rollouts per task.
var budgets = []int{8, 16, 32, 64}

const (
	quadratureOrder = 16 // the paper's, of the reference prior
	stages          = 5  // of policies that have more than two
)

// plan is how a policy spends a budget. Uniform's is a pilot and nothing else.
type plan struct {
	policy string
	donors func(of subject) []profile.Profile
	controller.Settings
}

// plansFor are the plans for a number of tasks, of all policies at all budgets; the small
// ones have been searched for with fewer panels. Policies with donors have the plan of
// those without: it holds for them as well, if it does not suit them as well.
func plansFor(b *bench, tasks int) (all []plan) {
	cold, err := informed.New(tasks, nil)
	b.OK(err)
	for _, budget := range budgets {
		settings := design.Settings{Tasks: tasks, Budget: budget, Seed: drill.Seed()}
		if b.Small {
			settings.Panels, settings.Replicates = 512, 2
		}
		two, err := design.Compute(b.Ctx, settings)
		b.OK(err)
		more, err := design.ComputeInStages(b.Ctx, design.StagesSettings{
			Prior: informed.Suite{cold}, Budget: budget, Stages: stages, Panels: 32, Replicates: 2, Seed: drill.Seed(),
		})
		b.OK(err)
		for _, p := range policiesDrawn {
			s := controller.Settings{Policy: controller.Sync, Tasks: tasks, Budget: budget, Prior: controller.Cold(b.prior)}
			switch p.name {
			case hbn:
				s.Pilots, s.Weight = two.Pilots, two.Weight
			case plain:
				s.Policy, s.Pilots, s.Weight, s.Prior = controller.Uniform, budget, 1, nil
			default:
				s.Pilots, s.Weight, s.Fractions = more.Plan.Pilots, more.Plan.Weight, more.Plan.Fractions
			}
			all = append(all, plan{p.name, p.donors, s})
		}
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
	hard    bool              // made to hurt
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
			all = append(all, subject{p, law.rewards, []profile.Profile{donor}, true})
		}
	}
	return all
}

// cell is evaluations of one profile by one plan, which are drawn.
type cell struct {
	subject
	plan
	number int // of evaluations to draw
	stats

	// Evaluations by what Uniform would have needed: the stated interval holds it, it is less
	// than was spent, and a gain is claimed though it is.
	equivalent, lost, wrong int
}

// draw draws the evaluations of a cell.
func (c *cell) draw(l *drill.Lab, prior *neyman.Prior, root seed.Seed) {
	estimated := func(tasks []estimate.Task) (estimate.Mean, error) { return estimate.Of(prior, tasks) }
	if c.donors != nil {
		var donors []informed.Donor
		for _, p := range c.donors(c.subject) {
			donors = append(donors, informed.Donor{Name: p.Name(), Passes: p.PassCounts, Rollouts: slices.Repeat([]int{p.TestedK}, p.N())})
		}
		known, err := informed.New(c.Tasks, donors)
		l.OK(err)
		c.Prior = controller.Informed(known)
		estimated = func(tasks []estimate.Task) (estimate.Mean, error) { return estimate.Of(prior, tasks, known) }
	}
	single, budget := 0.0, float64(c.Budget) // variance with one rollout per task, times N²
	for i := range c.Tasks {
		single += c.rewards.variance(c.profile.P(i))
	}
	streams := root.Child(c.profile.Name()).Child(c.policy).Index(c.Budget).Stream()
	for i := range c.number {
		l.OK(l.Ctx.Err())
		random := streams.At(uint64(i))
		tasks, variance := c.evaluate(l, &random)
		m, err := estimated(tasks)
		l.OK(err)
		c.add(m, c.profile.Mean())
		needed := single / variance // rollouts per task by Uniform
		lost := needed < budget*(1-1e-9)
		c.equivalent += one(m.Uniform.Low <= needed*(1+1e-9) && needed <= m.Uniform.High*(1+1e-9))
		c.lost += one(lost)
		c.wrong += one(lost && m.Uniform.Verdict(budget) > 0)
	}
}

// evaluate draws an evaluation by the program's own controller, one rollout after the
// other. Its variance, times N², is by the true variances of rewards.
func (c *cell) evaluate(l *drill.Lab, random *seed.Stream) (tasks []estimate.Task, variance float64) {
	run, err := controller.New(c.Settings)
	l.OK(err)
	seen := make([][]float64, c.Tasks) // rewards by task
	for !run.Done() {
		id, ok := run.Next()
		if !ok {
			l.Fatalf("no rollout to ask for, and %v is not done", c.Settings.Policy)
		}
		reward := c.rewards.draw(c.profile.P(int(id.Task)), random)
		seen[id.Task] = append(seen[id.Task], reward)
		if _, err := run.Rewarded(id, reward); err != nil {
			l.Fatal(err)
		}
	}
	stages := run.Observed()
	if stages == nil { // Uniform has one
		stages = []controller.Stage{{Sizes: slices.Repeat([]int{c.Budget}, c.Tasks), Weights: slices.Repeat([]float64{1}, c.Tasks)}}
	}
	for i, rewards := range seen {
		var t estimate.Task
		for _, stage := range stages {
			s := estimate.Stage{Rollouts: stage.Sizes[i], Weight: stage.Weights[i]}
			for _, reward := range rewards[:s.Rollouts] {
				s.Add(reward)
			}
			t.Stages, rewards = append(t.Stages, s), rewards[s.Rollouts:]
			if s.Rollouts > 0 {
				variance += c.rewards.variance(c.profile.P(i)) * s.Weight * s.Weight / float64(s.Rollouts)
			}
		}
		tasks = append(tasks, t)
	}
	return tasks, variance
}
