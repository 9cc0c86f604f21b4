package evaluation

import (
	"speceval/internal/coupled"
	"speceval/internal/policy"
	"speceval/method/controller"
	"speceval/method/informed"
	"speceval/method/neyman"
)

// Informed is the prior that knows the setup's donors; without any it is the reference
// prior in the form of policies in stages.
func (s *Setup) Informed() (*informed.Prior, error) {
	donors := make([]informed.Donor, len(s.Donors))
	for k, d := range s.Donors {
		donors[k] = informed.Donor{Name: d.Source, Passes: d.Passes, Rollouts: d.Rollouts}
	}
	return informed.New(len(s.TaskIDs), donors)
}

// prior is that of the controller: the paper's where a policy has its two stages.
func (s *Setup) prior(w *Way, reference *neyman.Prior) (controller.Prior, error) {
	if len(s.Donors) == 0 && len(s.Design.Fractions) <= 1 {
		return controller.Cold(reference), nil
	}
	prior, err := s.Informed()
	if err != nil {
		return nil, err
	}
	return controller.Informed(prior), nil
}

// controller is the policy, ready to begin, with the evaluation that it extends if there
// is one, and what it asks for at barriers.
func (s *Setup) controller(reference *neyman.Prior, past *controller.Past, seen func(task, rollouts int) tokens) (*controller.Controller, error) {
	way, err := s.way()
	if err != nil {
		return nil, err
	}
	d, tasks := s.Design, len(s.TaskIDs)
	c := controller.Settings{Policy: way.Controller, Tasks: tasks, Budget: s.Budget, Pilots: d.Pilots, TaskShares: s.Shares}
	if way.Uniform() {
		return controller.New(c)
	}
	c.Weight, c.Fractions, c.Order = d.Weight, d.Fractions, coupled.Ranks(s.TaskIDs, s.Seed)
	c.Least = s.Floor(d.Pilots)
	if c.Prior, err = s.prior(way, reference); err != nil {
		return nil, err
	}
	if way.InStages != nil && way.InStages.LeaveOneOut {
		plan, err := (&policy.InStages{After: 1, LeaveOneOut: true}).Plan(tasks, s.Budget, d.Pilots, d.Weight)
		if err != nil {
			return nil, err
		}
		c.LeaveOneOut = plan.LeaveOneOut
	}
	if past != nil {
		c.Past, c.Left = past, tasks*s.Budget-past.Rollouts()
	}
	if s.Stop != nil {
		c.Remaining = s.Stop.remaining(seen)
	}
	return controller.New(c)
}
