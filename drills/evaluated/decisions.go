package evaluated

import (
	"errors"
	"fmt"

	"speceval/internal/evaluation"
	"speceval/internal/policy"
	"speceval/method/design"
	"speceval/method/estimate"
	"speceval/method/informed"
	"speceval/method/neyman"
	"speceval/method/staged"
)

// rules are what decides on the rollouts of an evaluation, of its setup: method/staged
// under a prior, without the controller that executes it.
type rules struct {
	setup     *evaluation.Setup
	plan      staged.Plan
	reference *neyman.Prior
	informed  *informed.Prior // nil in the paper's two stages
}

// rulesOf are those of a setup of any policy but Uniform.
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
	if setup.Policy == policy.LOO.Name {
		plan, err := policy.LOO.InStages.Plan(len(setup.TaskIDs), setup.Budget, setup.Design.Pilots, setup.Design.Weight)
		if err != nil {
			return nil, err
		}
		r.plan.LeaveOneOut = plan.LeaveOneOut
	}
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

// begin is at the first stage; after the stages of the evaluation that is extended, if
// there is one.
func (r *rules) begin(past [][]estimate.Stage) (*decisions, error) {
	tasks := len(r.setup.TaskIDs)
	d := &decisions{rules: r, scores: make([]float64, tasks), spent: make([]int, tasks)}
	if d.observe = d.cold; r.informed != nil {
		d.observe = taking(r.informed.Posterior())
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

// taking observes in a posterior that knows donors, or has several stages.
func taking(p *informed.Posterior) func(sizes, passes []int, scores []float64) error {
	return func(sizes, passes []int, scores []float64) error {
		if err := p.Observe(sizes, passes); err != nil {
			return err
		}
		p.Scores(scores)
		return nil
	}
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
