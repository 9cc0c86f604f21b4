package evaluated

import (
	"fmt"
	"math"

	"speceval/internal/evaluation"
	"speceval/method/estimate"
	"speceval/method/neyman"
)

// CheckAllocation returns an error if the rollouts and weights of a result are not those
// that its setup decides on by the rewards of each stage's predecessors: the exact Neyman
// allocation by the scores of the pilot in two stages (paper, Eqs. 7 and 8), and
// method/staged by the posterior of the setup's donors otherwise.
func CheckAllocation(r *Result, setup *evaluation.Setup, reference *neyman.Prior) error {
	if len(r.Rows) != len(setup.TaskIDs) {
		return fmt.Errorf("results of %d tasks, the setup has %d", len(r.Rows), len(setup.TaskIDs))
	}
	if setup.Policy == Uniform {
		return r.checkUniform(setup.Budget)
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
	return a.rest()
}

func (r *Result) checkUniform(budget int) error {
	for _, t := range r.Rows {
		if len(t.Stages) != 1 || t.Stages[0].Rollouts != budget || t.Stages[0].Weight != 1 {
			return fmt.Errorf("task %s has the stages %+v under %s, want one of %d rollouts", t.ID, t.Stages, Uniform, budget)
		}
	}
	return nil
}

// account is a result whose stages are taken one after another.
type account struct {
	result *Result
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
		weight := weights[i]
		if d.plan.LeaveOneOut != nil && d.stages.Stage() == 0 {
			weight = math.NaN() // known when the pilot is; what is left of it is checked in the next stage
		}
		if err := a.stage(i, n, weight); err != nil {
			return fmt.Errorf("stage %d: %w", d.stages.Stage(), err)
		}
	}
	return nil
}

// stage takes the next stage of a task, which must have so many rollouts and that weight;
// any where it is NaN.
func (a *account) stage(task, rollouts int, weight float64) error {
	t := a.result.Rows[task]
	at := a.taken[task]
	if at >= len(t.Stages) {
		return fmt.Errorf("task %s has %d stages, and none of %d rollouts after them", t.ID, len(t.Stages), rollouts)
	}
	s := t.Stages[at]
	switch {
	case s.Rollouts != rollouts || !math.IsNaN(weight) && !close(s.Weight, weight):
		return fmt.Errorf("task %s has %d rollouts with weight %v, want %d with %v", t.ID, s.Rollouts, s.Weight, rollouts, weight)
	case s.Rewards != math.Trunc(s.Rewards):
		return fmt.Errorf("task %s has rewards of %v, want passes", t.ID, s.Rewards)
	}
	a.taken[task], a.passes[task] = at+1, int(s.Rewards)
	return nil
}

// rest is an error if stages are left.
func (a *account) rest() error {
	for i, t := range a.result.Rows {
		if a.taken[i] != len(t.Stages) {
			return fmt.Errorf("task %s has %d stages, want %d", t.ID, len(t.Stages), a.taken[i])
		}
	}
	return nil
}
