package evaluation

import (
	"slices"

	"speceval/internal/coupled"
	"speceval/internal/evaluation/way"
	"speceval/internal/policy"
	"speceval/method/controller"
	"speceval/method/estimate"
	"speceval/method/informed"
	"speceval/method/neyman"
)

// Informed is the prior that knows the setup's donors; without any it is the reference
// prior in the form of policies in stages.
func (s *Setup) Informed() (*informed.Prior, error) { return s.informed(0, len(s.TaskIDs)) }

// informed is the prior of so many tasks from the first, by those donors that have
// rollouts of any.
func (s *Setup) informed(first, tasks int) (*informed.Prior, error) {
	var donors []informed.Donor
	for _, d := range s.Donors {
		own := informed.Donor{Name: d.Source, Passes: d.Passes[first : first+tasks], Rollouts: d.Rollouts[first : first+tasks]}
		if slices.Max(own.Rollouts) > 0 {
			donors = append(donors, own)
		}
	}
	return informed.New(tasks, donors)
}

// estimate is the mean over some tasks, of which the first is the one with this index. Its
// error is by the donors as well, if there are any.
func (s *Setup) estimate(reference *neyman.Prior, tasks []estimate.Task, first int) (estimate.Mean, error) {
	if len(s.Donors) == 0 {
		return estimate.Of(reference, tasks)
	}
	known, err := s.informed(first, len(tasks))
	if err != nil {
		return estimate.Mean{}, err
	}
	return estimate.Informed(reference, known, tasks)
}

// prior is that of the controller: the paper's where a policy has its two stages.
func (s *Setup) prior(w *way.Way, reference *neyman.Prior) (controller.Prior, error) {
	if len(s.Donors) == 0 && len(s.Design.Fractions) <= 1 {
		return controller.Cold(reference), nil
	}
	prior, err := s.Informed()
	if err != nil {
		return nil, err
	}
	return controller.Informed(prior), nil
}

// Controller is the policy, ready to begin, for a program that runs the rollouts itself.
// Without ahead nothing is submitted before it is selected. used tells the tokens of the
// answers of a task's first rollouts; only a Stop by tokens needs it.
func (s *Setup) Controller(reference *neyman.Prior, ahead bool, used func(task, rollouts int) (sum, squares float64)) (*controller.Controller, error) {
	var past *controller.Past
	if s.Extends != nil {
		past = s.Extends.past()
	}
	c, err := s.settings(reference, past, func(task, rollouts int) (t tokens) {
		t.sum, t.squares = used(task, rollouts)
		return t
	})
	if err != nil {
		return nil, err
	}
	if c.Policy == controller.Async && !ahead {
		c.Policy = controller.Sync
	}
	return controller.New(c)
}

// controller is the policy, ready to begin, with the evaluation that it extends if there
// is one, and what it asks for at barriers.
func (s *Setup) controller(reference *neyman.Prior, past *controller.Past, seen func(task, rollouts int) tokens) (*controller.Controller, error) {
	c, err := s.settings(reference, past, seen)
	if err != nil {
		return nil, err
	}
	return controller.New(c)
}

// settings are those of the policy.
func (s *Setup) settings(reference *neyman.Prior, past *controller.Past, seen func(task, rollouts int) tokens) (c controller.Settings, err error) {
	own, err := s.way()
	if err != nil {
		return c, err
	}
	d, tasks := s.Design, len(s.TaskIDs)
	c = controller.Settings{Policy: own.Controller, Tasks: tasks, Budget: s.Budget, Pilots: d.Pilots, TaskShares: s.Shares}
	if own.Uniform() {
		return c, nil
	}
	c.Weight, c.Fractions, c.Order = d.Weight, d.Fractions, coupled.Ranks(s.TaskIDs, s.Seed)
	c.Least, c.Rounds = s.Floor(d.Pilots), d.Rounds
	if c.Prior, err = s.prior(own, reference); err != nil {
		return c, err
	}
	if own.InStages != nil && own.InStages.LeaveOneOut {
		plan, err := (&policy.InStages{After: 1, LeaveOneOut: true}).Plan(tasks, s.Budget, d.Pilots, d.Weight)
		if err != nil {
			return c, err
		}
		c.LeaveOneOut = plan.LeaveOneOut
	}
	if past != nil {
		c.Past, c.Left = past, tasks*s.Budget-past.Rollouts()
	}
	if s.Stop != nil {
		c.Remaining = s.Stop.remaining(seen)
	}
	return c, nil
}
