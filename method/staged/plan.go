package staged

import (
	"fmt"
	"math"
)

// Plan says how an evaluation in stages spends its budget. It is fixed before the
// first rollout.
type Plan struct {
	Pilots int     // m, rollouts of every task in the first stage
	Weight float64 // of the pilot's mean, from 0 to 1

	// LeaveOneOut, if there is one, is the weight of a task's pilot in the place of
	// Weight, from the pilots of all other tasks: others[S] of them have S successes.
	// It must not be kept, and must not depend on anything else that is random.
	LeaveOneOut func(others []int) float64

	// Fractions are what the stages after the pilot execute of each task's share of
	// the rollouts that are left, one for each stage. The last is 1, as is the only
	// one of a plan with two stages.
	Fractions []float64

	// Least is the number of rollouts that a task has ahead for as long as it has weight
	// left, so at least so many in its last stage; 0: 1. Estimates of pass^k need it.
	// It is at most what the pilot leaves of the budget.
	Least int

	// Rounds is the number of rounds through all tasks that all stages together may take,
	// where a stage takes as many as its largest task has rollouts; 0: any number. It is
	// for programs that go through all tasks again and again, and skip those that have
	// had what they get.
	Rounds int

	// TaskShares is the weight of each task in the mean over tasks, positive and one in all;
	// nil where all are alike. Tasks of several benchmarks may count differently.
	TaskShares []float64
}

// Stages is the number of stages, the pilot among them.
func (p Plan) Stages() int { return 1 + len(p.Fractions) }

// check says what is wrong with a plan for so many tasks and a budget of rollouts a
// task, if anything.
func (p Plan) check(tasks, budget int) error {
	switch {
	case p.Pilots < 1 || p.Pilots >= budget:
		return fmt.Errorf("staged: a pilot of %d rollouts per task does not fit a budget of %d: want 1 to %d", p.Pilots, budget, budget-1)
	case p.Least < 0 || p.Least > budget-p.Pilots:
		return fmt.Errorf("staged: at least %d rollouts per task after a pilot of %d do not fit a budget of %d: want 0 to %d", p.Least, p.Pilots, budget, budget-p.Pilots)
	case p.Rounds != 0 && p.Rounds < budget+len(p.Fractions):
		return fmt.Errorf("staged: %d rounds cannot hold a budget of %d in %d stages: want %d at least, and better twice as many", p.Rounds, budget, p.Stages(), budget+len(p.Fractions))
	case !(p.Weight >= 0 && p.Weight <= 1):
		return fmt.Errorf("staged: a stage weight of %v: want 0 to 1", p.Weight)
	case len(p.Fractions) == 0 || p.Fractions[len(p.Fractions)-1] != 1:
		return fmt.Errorf("staged: fractions %v: the last stage executes all that is left, 1", p.Fractions)
	}
	if err := p.checkShares(tasks); err != nil {
		return err
	}
	for _, f := range p.Fractions {
		if !(f > 0 && f <= 1) {
			return fmt.Errorf("staged: a fraction of %v: want more than 0 and at most 1", f)
		}
	}
	return nil
}

func (p Plan) checkShares(tasks int) error {
	if p.TaskShares == nil {
		return nil
	}
	if len(p.TaskShares) != tasks {
		return fmt.Errorf("staged: shares of %d tasks, want %d", len(p.TaskShares), tasks)
	}
	sum := 0.0
	for i, share := range p.TaskShares {
		if !(share > 0) {
			return fmt.Errorf("staged: task %d has the share %v: want a positive number", i, share)
		}
		sum += share
	}
	if math.Abs(sum-1) > 1e-9 {
		return fmt.Errorf("staged: shares come to %v: want 1", sum)
	}
	return nil
}
