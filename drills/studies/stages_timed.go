package studies

import (
	"context"
	"fmt"
	"time"

	"speceval/internal/coupled"
	"speceval/internal/fleet"
	"speceval/internal/fleet/virtual"
	"speceval/internal/profile"
	"speceval/internal/router"
	"speceval/internal/seed"
	"speceval/method/controller"
	"speceval/method/informed"
	"speceval/method/staged"
)

// worker is the replicas that an evaluation has, and the requests at each.
type worker struct{ replicas, window int }

func (w worker) places() int { return w.replicas * w.window }

// Of our own router, as the simulated fleet of the pipeline has them.
const (
	handling    = 10 * time.Microsecond
	computation = 100 * time.Microsecond
)

// timedCell is a design on a worker.
type timedCell struct {
	setting
	worker
}

// times are the mean times of a design over the executions of a profile, in seconds,
// and Uniform's at the same budget.
type times struct{ waiting, speculating, uniform float64 }

// executions executes evaluations of one profile on the simulated fleet.
type executions struct {
	*stagesStudy
	profile profile.Profile
	at      seed.Seed
	model   fleet.Model
	law     *fleet.Law
	base    map[worker]map[int]float64 // Uniform's times, by budget
}

func (s *stagesStudy) executions(p profile.Profile, at seed.Seed) (*executions, error) {
	model, law, err := s.fleet.Law(p)
	return &executions{stagesStudy: s, profile: p, at: at, model: model, law: law, base: map[worker]map[int]float64{}}, err
}

// numbered counts the rollouts of a task on from the pilot: what is drawn for the n-th
// one is the same under every design, so that few draws tell designs apart.
func numbered(id controller.ID, pilots int) controller.ID {
	if id.Phase == controller.Continuation {
		id.Ordinal += int32(pilots)
	}
	id.Phase = controller.Pilot
	return id
}

// on is a worker whose answers have the lengths of a repeat.
func (e *executions) on(w worker, pilots, repeat int) virtual.Settings {
	lengths := e.law.Sampler(e.at.Child("lengths").Index(repeat))
	return virtual.Settings{
		Timing: e.model.Timing, Replicas: w.replicas, Window: w.window, MaxSequences: e.model.MaxSequences,
		Lengths:  func(id controller.ID) (prompt, tokens int) { return lengths(numbered(id, pilots)) },
		Handling: handling, Computation: computation,
	}
}

// uniform times Uniform on every worker.
func (e *executions) uniform(ctx context.Context, budget int) error {
	for _, w := range e.workers {
		if e.base[w] == nil {
			e.base[w] = map[int]float64{}
		}
		total := 0.0
		for repeat := range e.repeats {
			runs, err := virtual.Uniform(ctx, e.on(w, budget, repeat), e.profile.N(), []int{budget})
			if err != nil {
				return err
			}
			total += runs[0].Time.Seconds()
		}
		e.base[w][budget] = total / float64(e.repeats)
	}
	return nil
}

// timed executes a design on every worker, with speculation and without.
func (e *executions) timed(ctx context.Context, r *result, c setting, plan staged.Plan, prior *informed.Prior) error {
	for _, w := range e.workers {
		t := times{uniform: e.base[w][c.budget]}
		for repeat := range e.repeats {
			for how, total := range map[controller.Policy]*float64{controller.Sync: &t.waiting, controller.Async: &t.speculating} {
				took, err := e.execute(ctx, e.on(w, plan.Pilots, repeat), how, c.budget, plan, prior, repeat)
				if err != nil {
					return fmt.Errorf("%d stages at budget %d, %s: %w", c.stages, c.budget, how, err)
				}
				*total += took.Seconds() / float64(e.repeats)
			}
		}
		r.times[timedCell{c, w}] = t
	}
	return nil
}

// execute executes an evaluation, which must spend its budget and no more than it may.
func (e *executions) execute(ctx context.Context, on virtual.Settings, how controller.Policy, budget int, plan staged.Plan, prior *informed.Prior, repeat int) (time.Duration, error) {
	n := e.profile.N()
	c, err := controller.New(controller.Settings{
		Policy: how, Tasks: n, Budget: budget, Pilots: plan.Pilots, Weight: plan.Weight, Fractions: plan.Fractions, Prior: controller.Informed(prior),
	})
	if err != nil {
		return 0, err
	}
	engine, err := virtual.New(on)
	if err != nil {
		return 0, err
	}
	rewards := coupled.NewRewards(e.profile, e.profile.SHA256(), e.seed+uint64(repeat))
	record, err := router.Run(ctx, router.Settings{Controller: c, Engine: engine, Reward: router.PassFail(func(id controller.ID) bool { return rewards.Reward(numbered(id, plan.Pilots)) })})
	if err != nil {
		return 0, err
	}
	accepted, extra := record.Count(router.Accepted), record.Extra()
	if accepted != n*budget || record.Retries > 0 || how == controller.Sync && extra > 0 {
		return 0, fmt.Errorf("%d rollouts were accepted of %d, %d more were begun and %d sent again", accepted, n*budget, extra, record.Retries)
	}
	return record.Time, nil
}
