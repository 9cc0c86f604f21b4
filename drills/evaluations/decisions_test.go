//go:build drill

package evaluations_test

import (
	"fmt"
	"slices"

	"speceval/drills/drill"
	"speceval/internal/evaluation"
	"speceval/internal/pilot"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/method/design"
	"speceval/method/estimate"
	"speceval/method/informed"
	"speceval/method/neyman"
	"speceval/method/staged"
)

// rules decide on the rollouts of an evaluation by its setup: method/staged under a prior,
// without the controller that executes it.
type rules struct {
	*drill.Lab
	setup     *evaluation.Setup
	plan      staged.Plan
	reference *neyman.Prior
	informed  *informed.Prior // nil in the paper's two stages
}

// rulesOf are the rules of a setup of any policy except Uniform.
func rulesOf(l *drill.Lab, setup *evaluation.Setup, reference *neyman.Prior) *rules {
	r := &rules{Lab: l, setup: setup, reference: reference, plan: staged.Plan{
		Pilots: setup.Design.Pilots, Weight: setup.Design.Weight, Fractions: setup.Design.Fractions,
		Least: setup.Floor(setup.Design.Pilots), TaskShares: setup.Shares,
	}}
	if len(r.plan.Fractions) == 0 {
		r.plan.Fractions = []float64{1}
	}
	if len(setup.Donors) > 0 || len(r.plan.Fractions) > 1 {
		var err error
		r.informed, err = setup.Informed()
		l.OK(err)
	}
	return r
}

// spend goes through the stages of an evaluation, after the stages of the evaluation that
// is extended, if there is one. ask returns how many of the rollouts of a task in a stage
// pass: what a stage asks of every task follows from the passes of the stages before it.
func (r *rules) spend(past [][]estimate.Stage, ask func(task, rollouts int, weight float64) (passes int)) *staged.Stages {
	tasks := len(r.setup.TaskIDs)
	var stages *staged.Stages
	var err error
	score, spent := r.score(), 0
	decide := func(sizes, passes []int) {
		scores := score(sizes, passes)
		for _, n := range sizes {
			spent += n
		}
		if r.setup.Stop != nil {
			b := stages.Barrier(scores)
			r.OK(stages.Resize(max(b.Least, r.left(b, spent))))
		}
		r.OK(stages.Decide(scores))
	}
	if past == nil {
		stages, err = staged.New(tasks, r.setup.Budget, r.plan)
		r.OK(err)
	} else {
		before, sizes, passes := summed(past)
		left := tasks * r.setup.Budget
		for _, n := range sizes {
			left -= n
		}
		stages, err = staged.Extend(before, left, r.plan)
		r.OK(err)
		decide(sizes, passes)
	}
	for {
		sizes, weights, passes := stages.Sizes(), stages.Weights(), make([]int, tasks)
		for i, n := range sizes {
			if n > 0 {
				passes[i] = ask(i, n, weights[i])
			}
		}
		r.OK(stages.Observe(passes))
		if stages.Done() {
			return stages
		}
		decide(sizes, passes)
	}
}

// summed are the stages of tasks, summed up.
func summed(all [][]estimate.Stage) (past staged.Past, sizes, passes []int) {
	for _, stages := range all {
		n, passed, mean, shrinkage := 0, 0, 0.0, 0.0
		for _, s := range stages {
			n, passed = n+s.Rollouts, passed+int(s.Rewards)
			mean += s.Weight * s.Rewards / float64(s.Rollouts)
			shrinkage += s.Weight * s.Weight / float64(s.Rollouts)
		}
		sizes, passes = append(sizes, n), append(passes, passed)
		past.Means, past.Shrinkage = append(past.Means, mean), append(past.Shrinkage, shrinkage)
	}
	return past, sizes, passes
}

// score returns what makes scores of the passes of stages, one after another: a posterior
// that observes them, or Eqs. 6 and 7 of the paper for a pilot.
func (r *rules) score() func(sizes, passes []int) (scores []float64) {
	scores := make([]float64, len(r.setup.TaskIDs))
	if r.informed != nil {
		posterior := r.informed.Posterior()
		return func(sizes, passes []int) []float64 {
			r.OK(posterior.Observe(sizes, passes))
			posterior.Scores(scores)
			return scores
		}
	}
	return func(sizes, passes []int) []float64 {
		pilots := r.plan.Pilots
		counts := make([]int, pilots+1)
		for i, n := range sizes {
			if n != pilots {
				r.Fatalf("%d rollouts of a task in a pilot of %d", n, pilots)
			}
			counts[passes[i]]++
		}
		by := r.reference.Pilot(pilots).Scores(counts, r.reference.NewWork())
		for i, n := range passes {
			scores[i] = by.At(n)
		}
		return scores
	}
}

// left is how many rollouts are left at a barrier of an evaluation that stops by what it
// finds: as few as the standard error takes, and no more than are allowed.
func (r *rules) left(b staged.Barrier, spent int) int {
	stop, left := r.setup.Stop, design.MostBudget*len(r.setup.TaskIDs)-spent
	if stop.StandardError > 0 {
		left = min(left, b.Toward(stop.StandardError*stop.StandardError))
	}
	if stop.Rollouts > 0 {
		left = min(left, stop.Rollouts-spent)
	}
	return left
}

// checkAllocation ends the drill if the rollouts and weights of a result are not those
// that its setup decides on by the rewards of each stage's predecessors: the exact Neyman
// allocation by the scores of the pilot in two stages (paper, Eqs. 7 and 8), and
// method/staged by the posterior of the setup's donors otherwise.
func checkAllocation(l *drill.Lab, folder string, r *evaluation.Result, setup *evaluation.Setup, reference *neyman.Prior) {
	l.Helper()
	if len(r.Rows) != len(setup.TaskIDs) {
		l.Fatalf("%s: results of %d tasks, the setup has %d", folder, len(r.Rows), len(setup.TaskIDs))
	}
	taken := make([]int, len(r.Rows)) // stages by task
	ask := func(task, rollouts int, weight float64) (passes int) {
		t, at := r.Rows[task], taken[task]
		if at >= len(t.Stages) {
			l.Fatalf("%s: task %s has %d stages, and none of %d rollouts after them", folder, t.ID, at, rollouts)
		}
		s := t.Stages[at]
		if s.Rollouts != rollouts || !near(s.Weight, weight) {
			l.Fatalf("%s: task %s has %d rollouts with weight %v, want %d with %v", folder, t.ID, s.Rollouts, s.Weight, rollouts, weight)
		}
		taken[task]++
		return int(s.Rewards)
	}
	var past [][]estimate.Stage
	if setup.Extends != nil {
		past = setup.Extends.Stages
	}
	for i, stages := range past { // they count with the weight of the pilot
		for _, was := range stages {
			if passes := ask(i, was.Rollouts, setup.Design.Weight*was.Weight); passes != int(was.Rewards) {
				l.Fatalf("%s: task %d has %d passes in a stage of what it extends, which has %v", folder, i, passes, was.Rewards)
			}
		}
	}
	if setup.Policy == uniform {
		for i := range r.Rows {
			ask(i, setup.Budget, 1)
		}
	} else {
		rulesOf(l, setup, reference).spend(past, ask)
	}
	for i, t := range r.Rows {
		if taken[i] != len(t.Stages) {
			l.Fatalf("%s: task %s has %d stages, want %d", folder, t.ID, len(t.Stages), taken[i])
		}
	}
}

// prediction is the variance of a policy's estimates relative to Uniform's.
type prediction struct {
	Ratio float64 // mean over draws
	SE    float64 // its Monte Carlo standard error; 0 of Uniform, which is 1 by definition
	Spent float64 // rollouts per task, mean over draws: the budget unless the evaluation stops by what it finds
}

// String is the ratio with its error.
func (p prediction) String() string { return fmt.Sprintf("%.3f ± %.4f", p.Ratio, p.SE) }

// predict draws evaluations of a profile whose pass rates are taken for the truth, under
// the setups of an evaluation and of the one that it extends, if there is one. It is the
// mean over draws of Σ p(1−p)·Σ c²/n, the variance of an estimate given the rollouts that
// decided on it, relative to Uniform's with as many rollouts on average (paper, Section
// 4.1, of which informed and staged policies are the general case).
func (b *bench) predict(p profile.Profile, draws int, number uint64, setups ...*evaluation.Setup) prediction {
	b.Helper()
	if setups[0].Policy == uniform {
		return prediction{Ratio: 1, Spent: float64(setups[0].Budget)}
	}
	var all []*rules // those of the evaluation that is extended come first
	for _, setup := range setups {
		all = slices.Insert(all, 0, rulesOf(b.Lab, setup, b.prior))
	}
	streams := seed.Root(number).Child("forecast").Child(p.Name()).Stream()
	var variances, spent []float64
	for draw := range draws {
		random, rollouts, variance := streams.At(uint64(draw)), 0, 0.0
		var past [][]estimate.Stage
		for _, r := range all {
			drawn := make([][]estimate.Stage, p.N())
			stages := r.spend(past, func(i, n int, weight float64) int {
				passes := pilot.Binomial(n, p.P(i), &random)
				drawn[i] = append(drawn[i], estimate.Binary(n, passes, weight))
				rollouts += n
				return passes
			})
			past, variance = drawn, 0
			for i, shrinkage := range stages.Shrinkage() {
				variance += p.P(i) * (1 - p.P(i)) * shrinkage
			}
		}
		variances = append(variances, variance)
		spent = append(spent, float64(rollouts)/float64(p.N()))
	}
	mean, se := meanOf(variances)
	perTask, _ := meanOf(spent)
	unit := p.VarianceSum() / perTask
	return prediction{Ratio: mean / unit, SE: se / unit, Spent: perTask}
}
