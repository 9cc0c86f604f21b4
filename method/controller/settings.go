package controller

import (
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

	Prior Prior // nil under Uniform
	Order []int // rank of every task where speculation is tied; nil: task order

	// Late starts speculation after the first completion, as the published runs
	// did, and not as soon as every pilot has been submitted.
	Late bool
}

// check says what is wrong with the settings, if anything. The rest of the plan is
// left to package staged.
func (s Settings) check() error {
	switch {
	case s.Policy > Async:
		return fmt.Errorf("controller: there is no %v", s.Policy)
	case s.Tasks < 1:
		return fmt.Errorf("controller: %d tasks, want at least 1", s.Tasks)
	case s.Policy == Uniform && (s.Pilots < 1 || s.Pilots > s.Budget):
		return fmt.Errorf("controller: %d of %d rollouts per task cannot be a pilot", s.Pilots, s.Budget)
	case s.Policy != Uniform && (s.Pilots < 1 || s.Pilots >= s.Budget):
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
	p := staged.Plan{Pilots: s.Pilots, Weight: s.Weight, LeaveOneOut: s.LeaveOneOut, Fractions: s.Fractions}
	if p.Fractions == nil {
		p.Fractions = []float64{1}
	}
	return p
}
