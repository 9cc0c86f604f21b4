//go:build drill

package evaluations_test

import (
	"errors"
	"fmt"
	"math"

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
	setup     *evaluation.Setup
	plan      staged.Plan
	reference *neyman.Prior
	informed  *informed.Prior // nil in the paper's two stages
}

// rulesOf are the rules of a setup of any policy except Uniform.
func rulesOf(setup *evaluation.Setup, reference *neyman.Prior) (*rules, error) {
	r := &rules{setup: setup, reference: reference, plan: staged.Plan{
		Pilots: setup.Design.Pilots, Weight: setup.Design.Weight, Fractions: setup.Design.Fractions,
		Least: setup.Floor(setup.Design.Pilots), TaskShares: setup.Shares,
	}}
	if len(r.plan.Fractions) == 0 {
		r.plan.Fractions = []float64{1}
	}
	if setup.Stop != nil && setup.Stop.Tokens > 0 {
		return nil, errors.New("an evaluation that tokens limit cannot be decided again by its rewards")
	}
	var err error
	if len(setup.Donors) > 0 || len(r.plan.Fractions) > 1 {
		r.informed, err = setup.Informed()
	}
	return r, err
}

// decisions are how one evaluation spends its rollouts: what a stage asks of every task
// follows from the passes of the stages before it.
type decisions struct {
	*rules
	stages  *staged.Stages
	observe func(sizes, passes []int, scores []float64) error // takes a stage in
	scores  []float64
	spent   []int // rollouts by task, in the stages that were observed
}

// begin decides on the first stage, after the stages of the evaluation that is extended,
// if there is one.
func (r *rules) begin(past [][]estimate.Stage) (*decisions, error) {
	tasks := len(r.setup.TaskIDs)
	d := &decisions{rules: r, scores: make([]float64, tasks), spent: make([]int, tasks)}
	if d.observe = d.cold; r.informed != nil {
		posterior := r.informed.Posterior()
		d.observe = func(sizes, passes []int, scores []float64) error {
			if err := posterior.Observe(sizes, passes); err != nil {
				return err
			}
			posterior.Scores(scores)
			return nil
		}
	}
	var err error
	if past == nil {
		d.stages, err = staged.New(tasks, r.setup.Budget, r.plan)
		return d, err
	}
	extended, sizes, passes := staged.Past{Means: make([]float64, tasks), Shrinkage: make([]float64, tasks)}, make([]int, tasks), make([]int, tasks)
	left := tasks * r.setup.Budget
	for i, stages := range past {
		for _, s := range stages {
			sizes[i], passes[i] = sizes[i]+s.Rollouts, passes[i]+int(s.Rewards)
			extended.Means[i] += s.Weight * s.Rewards / float64(s.Rollouts)
			extended.Shrinkage[i] += s.Weight * s.Weight / float64(s.Rollouts)
		}
		left -= sizes[i]
	}
	if d.stages, err = staged.Extend(extended, left, r.plan); err != nil {
		return nil, err
	}
	return d, d.decide(sizes, passes)
}

// cold observes a pilot by Eqs. 6 and 7 of the paper.
func (d *decisions) cold(sizes, passes []int, scores []float64) error {
	pilots := d.plan.Pilots
	counts := make([]int, pilots+1)
	for i, n := range sizes {
		if n != pilots {
			return fmt.Errorf("%d rollouts of a task in a pilot of %d", n, pilots)
		}
		counts[passes[i]]++
	}
	by := d.reference.Pilot(pilots).Scores(counts, d.reference.NewWork())
	for i, s := range passes {
		scores[i] = by.At(s)
	}
	return nil
}

// next takes the passes of the stage under way in and begins the next one, unless all
// stages are done.
func (d *decisions) next(passes []int) (done bool, err error) {
	if err := d.stages.Observe(passes); err != nil || d.stages.Done() {
		return err == nil, err
	}
	return false, d.decide(d.stages.Sizes(), passes)
}

// decide begins the next stage.
func (d *decisions) decide(sizes, passes []int) error {
	if err := d.observe(sizes, passes, d.scores); err != nil {
		return err
	}
	for i, n := range sizes {
		d.spent[i] += n
	}
	if stop := d.setup.Stop; stop != nil {
		b := d.stages.Barrier(d.scores)
		if err := d.stages.Resize(max(b.Least, d.remaining(*stop, b))); err != nil {
			return err
		}
	}
	return d.stages.Decide(d.scores)
}

// remaining is how many rollouts are left at a barrier of an evaluation that stops by
// what it finds: as few as the standard error takes, and no more than are allowed.
func (d *decisions) remaining(stop evaluation.Stop, b staged.Barrier) int {
	spent := 0
	for _, n := range d.spent {
		spent += n
	}
	left := design.MostBudget*len(d.spent) - spent
	if stop.StandardError > 0 {
		left = min(left, b.Toward(stop.StandardError*stop.StandardError))
	}
	if stop.Rollouts > 0 {
		left = min(left, stop.Rollouts-spent)
	}
	return left
}

// checkAllocation returns an error if the rollouts and weights of a result are not those
// that its setup decides on by the rewards of each stage's predecessors: the exact Neyman
// allocation by the scores of the pilot in two stages (paper, Eqs. 7 and 8), and
// method/staged by the posterior of the setup's donors otherwise.
func checkAllocation(r *evaluation.Result, setup *evaluation.Setup, reference *neyman.Prior) error {
	if len(r.Rows) != len(setup.TaskIDs) {
		return fmt.Errorf("results of %d tasks, the setup has %d", len(r.Rows), len(setup.TaskIDs))
	}
	if setup.Policy == uniform {
		for _, t := range r.Rows {
			if len(t.Stages) != 1 || t.Stages[0].Rollouts != setup.Budget || t.Stages[0].Weight != 1 {
				return fmt.Errorf("task %s has the stages %+v under %s, want one of %d rollouts", t.ID, t.Stages, uniform, setup.Budget)
			}
		}
		return nil
	}
	rules, err := rulesOf(setup, reference)
	if err != nil {
		return err
	}
	a := account{result: r, taken: make([]int, len(r.Rows)), passes: make([]int, len(r.Rows))}
	var past [][]estimate.Stage
	if setup.Extends != nil {
		past = setup.Extends.Stages
		if err := a.takePast(past, setup.Design.Weight); err != nil {
			return err
		}
	}
	d, err := rules.begin(past)
	for done := false; err == nil && !done; {
		if err = a.take(d); err == nil {
			done, err = d.next(a.passes)
		}
	}
	if err != nil {
		return err
	}
	for i, t := range r.Rows {
		if a.taken[i] != len(t.Stages) {
			return fmt.Errorf("task %s has %d stages, want %d", t.ID, len(t.Stages), a.taken[i])
		}
	}
	return nil
}

// account is a result whose stages are taken one after another.
type account struct {
	result *evaluation.Result
	taken  []int // stages by task
	passes []int // of the stage that was taken last
}

// takePast takes the stages of the evaluation that is extended, whose weights count with
// a factor.
func (a *account) takePast(past [][]estimate.Stage, factor float64) error {
	for i, stages := range past {
		for _, was := range stages {
			if err := a.stage(i, was.Rollouts, factor*was.Weight); err != nil {
				return err
			}
			if a.passes[i] != int(was.Rewards) {
				return fmt.Errorf("task %s has %d passes in a stage of what it extends, which has %v", a.result.Rows[i].ID, a.passes[i], was.Rewards)
			}
		}
	}
	return nil
}

// take takes the stage that has been decided.
func (a *account) take(d *decisions) error {
	sizes, weights := d.stages.Sizes(), d.stages.Weights()
	for i, n := range sizes {
		if a.passes[i] = 0; n == 0 {
			continue
		}
		if err := a.stage(i, n, weights[i]); err != nil {
			return fmt.Errorf("stage %d: %w", d.stages.Stage(), err)
		}
	}
	return nil
}

// stage takes the next stage of a task, which must have so many rollouts and that weight.
func (a *account) stage(task, rollouts int, weight float64) error {
	t := a.result.Rows[task]
	at := a.taken[task]
	if at >= len(t.Stages) {
		return fmt.Errorf("task %s has %d stages, and none of %d rollouts after them", t.ID, len(t.Stages), rollouts)
	}
	s := t.Stages[at]
	switch {
	case s.Rollouts != rollouts || !near(s.Weight, weight):
		return fmt.Errorf("task %s has %d rollouts with weight %v, want %d with %v", t.ID, s.Rollouts, s.Weight, rollouts, weight)
	case s.Rewards != math.Trunc(s.Rewards):
		return fmt.Errorf("task %s has rewards of %v, want passes", t.ID, s.Rewards)
	}
	a.taken[task], a.passes[task] = at+1, int(s.Rewards)
	return nil
}
