//go:build drill

package evaluations_test

import (
	"speceval/drills/drill"
	"speceval/internal/evaluation"
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

// decisions are how one evaluation spends its rollouts: what a stage asks of every task
// follows from the passes of the stages before it.
type decisions struct {
	*rules
	stages  *staged.Stages
	observe func(sizes, passes []int, scores []float64) // takes a stage in
	scores  []float64
	spent   int // rollouts, in the stages that were observed
}

// begin decides on the first stage, after the stages of the evaluation that is extended,
// if there is one.
func (r *rules) begin(past [][]estimate.Stage) *decisions {
	tasks := len(r.setup.TaskIDs)
	d := &decisions{rules: r, scores: make([]float64, tasks)}
	if d.observe = d.cold; r.informed != nil {
		posterior := r.informed.Posterior()
		d.observe = func(sizes, passes []int, scores []float64) {
			r.OK(posterior.Observe(sizes, passes))
			posterior.Scores(scores)
		}
	}
	var err error
	if past == nil {
		d.stages, err = staged.New(tasks, r.setup.Budget, r.plan)
		r.OK(err)
		return d
	}
	extended := staged.Past{Means: make([]float64, tasks), Shrinkage: make([]float64, tasks)}
	sizes, passes := make([]int, tasks), make([]int, tasks)
	left := tasks * r.setup.Budget
	for i, stages := range past {
		for _, s := range stages {
			sizes[i], passes[i] = sizes[i]+s.Rollouts, passes[i]+int(s.Rewards)
			extended.Means[i] += s.Weight * s.Rewards / float64(s.Rollouts)
			extended.Shrinkage[i] += s.Weight * s.Weight / float64(s.Rollouts)
		}
		left -= sizes[i]
	}
	d.stages, err = staged.Extend(extended, left, r.plan)
	r.OK(err)
	d.decide(sizes, passes)
	return d
}

// cold observes a pilot by Eqs. 6 and 7 of the paper.
func (d *decisions) cold(sizes, passes []int, scores []float64) {
	pilots := d.plan.Pilots
	counts := make([]int, pilots+1)
	for i, n := range sizes {
		if n != pilots {
			d.Fatalf("%d rollouts of a task in a pilot of %d", n, pilots)
		}
		counts[passes[i]]++
	}
	by := d.reference.Pilot(pilots).Scores(counts, d.reference.NewWork())
	for i, s := range passes {
		scores[i] = by.At(s)
	}
}

// next takes the passes of the stage under way in and begins the next one. It reports
// whether all stages are done.
func (d *decisions) next(passes []int) (done bool) {
	d.OK(d.stages.Observe(passes))
	if d.stages.Done() {
		return true
	}
	d.decide(d.stages.Sizes(), passes)
	return false
}

// decide begins the next stage. An evaluation that stops by what it finds has as few
// rollouts left as the standard error takes, and no more than are allowed.
func (d *decisions) decide(sizes, passes []int) {
	d.observe(sizes, passes, d.scores)
	for _, n := range sizes {
		d.spent += n
	}
	if stop := d.setup.Stop; stop != nil {
		b := d.stages.Barrier(d.scores)
		left := design.MostBudget*len(sizes) - d.spent
		if stop.StandardError > 0 {
			left = min(left, b.Toward(stop.StandardError*stop.StandardError))
		}
		if stop.Rollouts > 0 {
			left = min(left, stop.Rollouts-d.spent)
		}
		d.OK(d.stages.Resize(max(b.Least, left)))
	}
	d.OK(d.stages.Decide(d.scores))
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
	want := make([][]estimate.Stage, len(r.Rows)) // their rewards are the result's
	ask := func(task, rollouts int, weight float64) (passes int) {
		t, at := r.Rows[task], len(want[task])
		if at >= len(t.Stages) {
			l.Fatalf("%s: task %s has %d stages, and none of %d rollouts after them", folder, t.ID, at, rollouts)
		}
		s := t.Stages[at]
		if s.Rollouts != rollouts || !near(s.Weight, weight) {
			l.Fatalf("%s: task %s has %d rollouts with weight %v, want %d with %v", folder, t.ID, s.Rollouts, s.Weight, rollouts, weight)
		}
		want[task] = append(want[task], s)
		return int(s.Rewards)
	}
	if setup.Policy == uniform {
		for i := range r.Rows {
			ask(i, setup.Budget, 1)
		}
	} else {
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
		d := rulesOf(l, setup, reference).begin(past)
		for done := false; !done; {
			passes := make([]int, len(r.Rows))
			weights := d.stages.Weights()
			for i, n := range d.stages.Sizes() {
				if n > 0 {
					passes[i] = ask(i, n, weights[i])
				}
			}
			done = d.next(passes)
		}
	}
	for i, t := range r.Rows {
		if len(want[i]) != len(t.Stages) {
			l.Fatalf("%s: task %s has %d stages, want %d", folder, t.ID, len(t.Stages), len(want[i]))
		}
	}
}
