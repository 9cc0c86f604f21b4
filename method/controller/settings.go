package controller

import (
	"errors"
	"fmt"

	"speceval/method/staged"
)

// Settings are a policy and the setting that it is executed in.
type Settings struct {
	Policy Policy
	Tasks  int // N
	Budget int // b, average rollouts per task
	Pilots int // m, of every task, at least 1 and less than Budget; Uniform, where it only names rollouts, may have m = b

	// The rest of the plan, as in staged.Plan; Uniform has none.
	Weight      float64                    // w of the pilot's mean; but for rounding only the estimate depends on it
	LeaveOneOut func(others []int) float64 // in the place of Weight, if there is one
	Fractions   []float64                  // of what is left, by stage after the pilot; nil: all, in two stages
	Least       int                        // rollouts that a task has in its last stage at least; 0: 1
	Rounds      int                        // through all tasks, that all stages may take; 0: any number

	// TaskShares is the weight of each task in the mean over tasks; nil where all are alike.
	TaskShares []float64

	// Remaining, if there is one, decides at every barrier how many rollouts are left from
	// there on, in the place of Budget, brought between Barrier.Least and Barrier.Most. It
	// must depend on the barrier alone, or on what else selected rollouts have told.
	Remaining func(Barrier) int

	// Past, if there is one, is an evaluation that is complete, which this one extends by
	// Left rollouts. There are no pilots then, and Weight is that of its estimates.
	Past *Past
	Left int

	Prior Prior // nil under Uniform
	Order []int // rank of every task where speculation is tied; nil: task order

	// Late starts speculation after the first completion, as the published runs
	// did, and not as soon as every pilot has been submitted.
	Late bool
}

// Barrier is what is known at one: staged.Barrier with the rollouts that each task has
// had so far, those of Past among them. Nothing in it may be changed.
type Barrier struct {
	staged.Barrier
	Rollouts []int
}

// check says what is wrong with the settings, if anything. The rest of the plan is
// left to package staged.
func (s Settings) check() error {
	switch {
	case s.Policy > Async:
		return fmt.Errorf("controller: there is no %v", s.Policy)
	case s.Tasks < 1:
		return fmt.Errorf("controller: %d tasks, want at least 1", s.Tasks)
	case s.Policy == Uniform && s.Past != nil:
		return errors.New("controller: uniform extends no evaluation")
	case s.Past != nil && len(s.Past.Counts) != s.Tasks:
		return fmt.Errorf("controller: an earlier evaluation of %d tasks, want %d", len(s.Past.Counts), s.Tasks)
	case s.Policy == Uniform && (s.Pilots < 1 || s.Pilots > s.Budget):
		return fmt.Errorf("controller: %d of %d rollouts per task cannot be a pilot", s.Pilots, s.Budget)
	case s.Policy != Uniform && s.Past == nil && (s.Pilots < 1 || s.Pilots >= s.Budget):
		return fmt.Errorf("controller: a pilot of %d rollouts per task does not fit a budget of %d: want 1 to %d", s.Pilots, s.Budget, s.Budget-1)
	case s.Policy != Uniform && s.Prior == nil:
		return fmt.Errorf("controller: %v needs a prior", s.Policy)
	case s.Order != nil && len(s.Order) != s.Tasks:
		return fmt.Errorf("controller: the order ranks %d of %d tasks", len(s.Order), s.Tasks)
	}
	return nil
}

// plan is how the budget is spent.
func (s Settings) plan() staged.Plan {
	p := staged.Plan{Pilots: s.Pilots, Weight: s.Weight, LeaveOneOut: s.LeaveOneOut, Fractions: s.Fractions, Least: s.Least, Rounds: s.Rounds, TaskShares: s.TaskShares}
	if p.Fractions == nil {
		p.Fractions = []float64{1}
	}
	return p
}

// stages begins the stages of a policy that has some.
func (s Settings) stages() (*staged.Stages, error) {
	if s.Past != nil {
		return staged.Extend(s.Past.Past, s.Left, s.plan())
	}
	return staged.New(s.Tasks, s.Budget, s.plan())
}
