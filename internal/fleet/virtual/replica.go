package virtual

import (
	"context"
	"fmt"
	"slices"
	"time"

	"speceval/internal/fleet"
	"speceval/internal/flops"
	"speceval/internal/router"
	"speceval/method/controller"
)

// replica takes runs of steps: as many at once as change nothing but the number
// of tokens. A request that arrives, or is to end, cuts the run under way short
// at the next end of a step.
type replica struct {
	batch       *fleet.Batch
	most        int // sequences that run at a time
	outstanding int // requests, as the router sees it

	at    time.Duration // when the run under way began, or the last one ended
	steps int           // of the run under way; 0: none is
	end   time.Duration // of the run under way

	arrivals []*flight // they join the batch when the run ends
	queued   []*flight // in the batch, and not yet seen to start
	aborts   int       // flights that leave when the run ends
	leaving  []*flight // for reuse
}

// idle reports whether there is nothing to do.
func (r *replica) idle() bool {
	return len(r.arrivals) == 0 && r.batch.Running()+r.batch.Waiting() == 0
}

// due is when the run under way ends, never if none is.
func (r *replica) due() time.Duration {
	if r.steps == 0 {
		return never
	}
	return r.end
}

// next is when the run under way ends. One that would begin before the given
// time begins.
func (r *replica) next(before time.Duration) time.Duration {
	if r.steps == 0 {
		if r.at >= before || r.idle() {
			return never
		}
		r.begin()
	}
	return r.end
}

// begin begins a run of steps, to the end of the next sequence that ends.
func (r *replica) begin() {
	for i, f := range r.arrivals {
		r.batch.Add(&f.sequence)
		r.arrivals[i] = nil
	}
	r.arrivals = r.arrivals[:0]
	r.steps = r.batch.Next()
	r.end = r.at + r.batch.Begin(r.steps)
	started := len(r.queued) - r.batch.Waiting()
	for _, f := range r.queued[:max(0, started)] {
		f.started = r.at
	}
	r.queued = slices.Delete(r.queued, 0, max(0, started))
}

// advance ends the run under way and returns the sequences that end with it.
func (r *replica) advance() []*fleet.Sequence {
	steps := r.steps
	r.at, r.steps = r.end, 0
	return r.batch.Advance(steps)
}

// cut ends the run under way at the first end of a step from now on.
func (r *replica) cut(now time.Duration) {
	if r.steps == 0 {
		return
	}
	steps := r.batch.Within(now - r.at)
	if steps == 0 || r.at+r.batch.Begin(steps) < now {
		steps++
	}
	if steps < r.steps {
		r.steps, r.end = steps, r.at+r.batch.Begin(steps)
	}
}

// add takes a flight in. It starts at once if there is room for it: with
// the step that the replica does next.
func (r *replica) add(f *flight, now time.Duration) {
	if r.idle() {
		r.at = now
	}
	r.outstanding++
	if r.batch.Running()+r.batch.Waiting()+len(r.arrivals) < r.most {
		f.started = now
		r.cut(now)
	} else {
		r.queued = append(r.queued, f)
	}
	r.arrivals = append(r.arrivals, f)
}

// abort marks a flight to leave with the end of the step under way, and tells
// whether it has left at once.
func (r *replica) abort(f *flight, now time.Duration) bool {
	f.aborted = true
	waits := false
	r.queued, waits = without(r.queued, f)
	if rest, arrives := without(r.arrivals, f); arrives {
		r.arrivals = rest
		return true
	}
	if waits || r.steps == 0 {
		f.seen = f.sequence.Generated
		r.batch.Remove(&f.sequence)
		return true
	}
	f.seen = f.sequence.Generated + r.batch.Within(now-r.at)
	r.cut(now)
	r.aborts++
	return false
}

// without is flights without f, and whether it was there.
func without(flights []*flight, f *flight) ([]*flight, bool) {
	i := slices.Index(flights, f)
	if i < 0 {
		return flights, false
	}
	return slices.Delete(flights, i, i+1), true
}

// removeAborted takes the flights out that were to leave, and returns those
// that have not ended by themselves.
func (r *replica) removeAborted() []*flight {
	r.leaving = r.leaving[:0]
	note := func(s *fleet.Sequence) {
		if f := s.Owner.(*flight); f.aborted {
			r.leaving = append(r.leaving, f)
		}
	}
	r.batch.Each(note)
	for _, f := range r.leaving {
		r.batch.Remove(&f.sequence)
	}
	r.aborts = 0
	return r.leaving
}

// UniformRun is an execution of Uniform: the time to its last reward, and the tokens of
// its rollouts.
type UniformRun struct {
	Time   time.Duration
	Tokens flops.Tokens
}

// Uniform executes Uniform at several budgets on one simulated worker each, with the
// same lengths for the same rollouts: as a router under controller.Uniform does, with
// as many pilots as rollouts. What the budgets have in common is executed once. From
// where the last rollout of a budget has been submitted a copy of the worker goes on
// to its end.
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
	if tasks < 1 || len(budgets) == 0 || slices.Min(budgets) < 1 {
		return nil, fmt.Errorf("uniform at budgets %d of %d tasks", budgets, tasks)
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
		if event, err := e.Next(ctx); err != nil {
			return 0, err
		} else if event.Kind != router.Completed {
			return 0, fmt.Errorf("request %d has ended without a reward", event.Request)
		}
	}
	return e.now, nil
}

// clone is the worker as it stands: both go on from here, each by itself.
func (e *Engine) clone() *Engine {
	c := *e
	c.free, c.places = slices.Clone(e.free), slices.Clone(e.places)
	c.flights, c.replicas = slices.Clone(e.flights), slices.Clone(e.replicas)
	c.pending.events = slices.Clone(e.pending.events)
	for i := range c.flights {
		c.flights[i].sequence.Owner = &c.flights[i]
	}
	its := func(f *flight) *flight { return &c.flights[e.places[f.request]] }
	all := func(flights []*flight) (own []*flight) {
		for _, f := range flights {
			own = append(own, its(f))
		}
		return own
	}
	for i := range c.replicas {
		r := &c.replicas[i]
		r.arrivals, r.queued, r.leaving = all(r.arrivals), all(r.queued), nil
		r.batch = r.batch.Clone(func(s *fleet.Sequence) *fleet.Sequence { return &its(s.Owner.(*flight)).sequence })
	}
	return &c
}
