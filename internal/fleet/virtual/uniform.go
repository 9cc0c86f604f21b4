package virtual

import (
	"context"
	"slices"
	"time"

	"speceval/internal/fleet"
	"speceval/internal/servers/flops"
	"speceval/method/controller"
)

// UniformRun is an execution of Uniform: the time to its last reward, and the tokens of
// its rollouts.
type UniformRun struct {
	Time   time.Duration
	Tokens flops.Tokens
}

// Uniform executes Uniform at several budgets on one simulated worker each, with the
// same lengths for the same rollouts: as a router under controller.Uniform does, with
// as many pilots as rollouts. There are tasks and budgets, none 0. What the budgets have in common is executed once: a copy
// of the worker goes on from the last rollout of a budget to its end.
func Uniform(ctx context.Context, s Settings, tasks int, budgets []int) ([]UniformRun, error) {
	e, err := New(s)
	if err != nil {
		return nil, err
	}
	runs := make([]UniformRun, len(budgets))
	var tokens flops.Tokens
	lengths := e.settings.Lengths
	e.settings.Lengths = func(id controller.ID) (prompt, answer int) {
		prompt, answer = lengths(id)
		tokens.Add(prompt, answer)
		return prompt, answer
	}
	for submitted, all := 0, tasks*slices.Max(budgets); submitted < all; {
		for len(e.free) > 0 && submitted < all {
			e.Submit(submitted, controller.ID{Task: int32(submitted % tasks), Phase: controller.Pilot, Ordinal: int32(submitted/tasks + 1)})
			submitted++
			for k, b := range budgets {
				if submitted != tasks*b {
					continue
				}
				runs[k].Tokens = tokens
				if runs[k].Time, err = e.clone().drain(ctx); err != nil {
					return nil, err
				}
			}
		}
		if submitted < all {
			if _, err := e.Next(ctx); err != nil {
				return nil, err
			}
		}
	}
	return runs, nil
}

// drain waits for what is outstanding, and returns the time when all of it is there.
func (e *Engine) drain(ctx context.Context) (time.Duration, error) {
	for len(e.free) < len(e.flights) {
		if _, err := e.Next(ctx); err != nil {
			return 0, err
		}
	}
	return e.now, nil
}

// clone is the worker as it stands: both go on from here, each by itself.
func (e *Engine) clone() *Engine {
	c := *e
	c.free, c.places = slices.Clone(e.free), slices.Clone(e.places)
	c.flights, c.replicas = slices.Clone(e.flights), slices.Clone(e.replicas)
	c.pending = slices.Clone(e.pending)
	for i := range c.flights {
		c.flights[i].sequence.Owner = &c.flights[i]
	}
	its := func(f *flight) *flight { return &c.flights[e.places[f.request]] }
	for i := range c.replicas {
		r := &c.replicas[i]
		r.batch = r.batch.Clone(func(s *fleet.Sequence) *fleet.Sequence { return &its(s.Owner.(*flight)).sequence })
	}
	return &c
}
