// Package router executes a policy on the replicas of one worker: it keeps
// their places filled with what the controller wants, reveals rewards when
// rollouts complete, aborts surplus at the barrier, and records every request
// and the time from the first dispatch to the last selected reward (paper,
// appendix on system execution). What replicas are, and what time is, is up to
// an Engine; Worker makes one of servers.
package router

import (
	"context"
	"fmt"
	"slices"
	"time"

	"speceval/method/controller"
)

// Settings are one execution.
type Settings struct {
	Controller *controller.Controller // new
	Engine     Engine                 // new, with nothing outstanding

	// Reward is the reward of a rollout, asked for once, when it has completed.
	Reward func(controller.ID) float64

	// Retries is how often a rollout that failed is submitted again. A further
	// failure ends the execution.
	Retries int

	// Requests is memory for the requests of the record; nil: its own.
	Requests []Request

	// Sparse works as the published runs did where the paper asks for more: a
	// provisional allocation that newer rewards have overtaken is dropped, and
	// free places wait for a request to end.
	Sparse bool
}

// PassFail makes rewards of passes.
func PassFail(passed func(controller.ID) bool) func(controller.ID) float64 {
	return func(id controller.ID) float64 {
		if passed(id) {
			return 1
		}
		return 0
	}
}

// Run executes a policy. It returns when every selected rollout has its reward and every
// surplus request has ended, with its reward if it completed. After an error the engine may
// have requests outstanding, and the record holds the part until then.
func Run(ctx context.Context, s Settings) (*Record, error) {
	r := &run{Settings: s, slots: s.Engine.Slots(), record: &Record{Policy: s.Controller.Policy}}
	r.record.Requests = slices.Grow(s.Requests[:0], s.Controller.Tasks*s.Controller.Budget+r.slots)
	if r.slots < 1 {
		return r.record, fmt.Errorf("router: the engine has no place for a request")
	}
	err := r.loop(ctx)
	r.record.Allocation = s.Controller.Allocation()
	return r.record, err
}

// run is an execution under way.
type run struct {
	Settings
	record *Record
	slots  int
	start  time.Duration // by the engine's clock

	outstanding int
	scoring     int  // answered, and no reward yet
	ready       bool // every selected reward is there
	computing   *controller.Provisional
	failures    map[controller.ID]int
}

// since is the time since the first dispatch.
func (r *run) since(t time.Duration) time.Duration { return t - r.start }

func (r *run) loop(ctx context.Context) error {
	r.start = r.Engine.Now()
	r.fill(never)
	r.record.Handling += r.Engine.Now() - r.start
	for !r.ready || r.outstanding+r.scoring > 0 {
		e, err := r.Engine.Next(ctx)
		if err != nil {
			return err
		}
		began := r.Engine.Now()
		if err := r.handle(e); err != nil {
			return err
		}
		now := r.Engine.Now()
		r.record.Handling += now - began
		if !r.ready && r.Controller.Done() {
			r.ready = true
			r.record.Time = r.since(now)
		}
	}
	r.record.Released = r.since(r.Engine.Now())
	return nil
}

// handle takes note of one event and fills the places that are free then.
func (r *run) handle(e Event) error {
	if e.Kind == Computed {
		p := r.computing
		if r.computing = nil; !(r.Sparse && r.Controller.Stale(p)) && r.Controller.Apply(p) {
			r.record.Updates++
		}
		if r.compute(); !r.Sparse {
			r.fill(never)
		}
		return nil
	}
	if e.Kind == Exhausted {
		if err := r.Controller.Drop(); err != nil {
			return fmt.Errorf("router: a stage cannot be dropped: %w", err)
		}
		r.record.Allocated = r.since(r.Engine.Now())
		r.abortSurplus()
		return nil
	}
	q := &r.record.Requests[e.Request]
	switch {
	case q.State == Scoring && e.Kind == Completed:
		r.scoring--
		if err := r.completed(q); err != nil {
			return err
		}
		r.fill(never)
		return nil
	case q.State == Scoring && e.Kind == Failed:
		return fmt.Errorf("%v failed: %w", q.ID, e.Err)
	case q.State != Outstanding:
		return fmt.Errorf("router: an event of request %d, which is not outstanding", e.Request)
	}
	freed := never
	if r.outstanding == r.slots {
		freed = r.since(e.Finished)
	}
	r.outstanding--
	q.Replica, q.Prompt, q.Generated = e.Replica, e.Prompt, e.Generated
	q.Finished = r.since(e.Finished)
	if e.Started >= 0 {
		q.Started = r.since(e.Started)
	}
	var err error
	switch e.Kind {
	case Completed:
		r.raced(q)
		err = r.completed(q)
	case Answered:
		r.raced(q)
		q.State = Scoring
		r.scoring++
	case Aborted:
		if q.State = AbortedRunning; q.Started < 0 {
			q.State = CancelledQueued
		}
		err = r.Controller.Ended(q.ID)
	default:
		q.State = Faulty
		surplus := r.Controller.Surplus(q.ID)
		if err = r.Controller.Failed(q.ID); err != nil || surplus {
			break
		}
		if r.failures == nil {
			r.failures = make(map[controller.ID]int)
		}
		if r.failures[q.ID]++; r.failures[q.ID] > r.Retries {
			return fmt.Errorf("%v failed: %w", q.ID, e.Err)
		}
		r.record.Retries++
	}
	if err != nil {
		return err
	}
	r.fill(freed)
	return nil
}

// raced counts a request that has completed although it was to be aborted.
func (r *run) raced(q *Request) {
	if r.Controller.Surplus(q.ID) {
		r.record.Races++
	}
}

// completed reveals the reward of a rollout, and passes a barrier if it is the last
// that the stage under way has waited for.
func (r *run) completed(q *Request) error {
	q.Reward = r.Reward(q.ID)
	q.RewardReady = r.since(r.Engine.Now())
	q.State = Accepted
	if r.Controller.Surplus(q.ID) {
		q.State = Discarded
	}
	released, err := r.Controller.Rewarded(q.ID, q.Reward)
	if err != nil {
		return err
	}
	if q.ID.Phase == controller.Pilot {
		r.record.PilotReady = max(r.record.PilotReady, q.RewardReady)
	}
	if released {
		now := r.since(r.Engine.Now())
		// Several barriers, where one stage had speculated all that the next one selects.
		for len(r.record.Barriers) < r.Controller.Stage() {
			r.record.Barriers = append(r.record.Barriers, now)
		}
		if r.Controller.Allocation() != nil { // nothing more can be selected
			r.record.Allocated = now
			r.abortSurplus()
		}
	}
	r.compute()
	return nil
}

// abortSurplus ends, at the last barrier, what is not selected.
func (r *run) abortSurplus() {
	for i := range r.record.Requests {
		q := &r.record.Requests[i]
		switch {
		case !r.Controller.Surplus(q.ID):
		case q.State == Outstanding:
			r.Engine.Abort(i)
		case q.State == Accepted:
			q.State = Discarded
		}
	}
}

// compute starts a provisional allocation of the latest rewards, unless one is
// being worked out.
func (r *run) compute() {
	if r.computing != nil {
		return
	}
	if p := r.Controller.Snapshot(); p != nil {
		r.computing = p
		r.Engine.Compute(p.Solve)
	}
}

// never is the time of what has not been.
const never time.Duration = -1

// fill submits until every place is taken or nothing may be submitted. Freed is
// when the one place became free that is; never if others were free before.
func (r *run) fill(freed time.Duration) {
	for r.outstanding < r.slots {
		id, ok := r.Controller.Next()
		if !ok {
			return
		}
		request := len(r.record.Requests)
		r.record.Requests = append(r.record.Requests, Request{
			ID: id, Submitted: r.since(r.Engine.Now()), Started: never, RewardReady: never, Freed: freed,
			Prefetched: !r.Controller.Selected(id),
		})
		r.outstanding++
		r.Engine.Submit(request, id)
	}
}

// Engine is the replicas of one worker and their clock: simulated ones under a
// virtual clock, or servers under the wall clock. The router uses it from one
// goroutine.
type Engine interface {
	// Slots is how many requests may be outstanding: those submitted that no event
	// has ended. An answer that waits for its reward has no place any more.
	Slots() int
	// Submit sends a rollout to the replica with the fewest outstanding
	// requests, the first of those. It does not wait. Request numbers the
	// submissions of a run from 0; events carry it.
	Submit(request int, id controller.ID)
	// Abort asks for the end of an outstanding request. Its Aborted event
	// follows, or its Completed one if that was faster.
	Abort(request int)
	// Compute works f out in the background and says so by a Computed event.
	// One computation runs at a time. An engine whose clock is virtual may
	// leave f to the first who needs its result.
	Compute(f func())
	// Next waits for the next event. Events of one request come in order.
	Next(ctx context.Context) (Event, error)
	// Now is the time since the engine was made. It never goes backwards.
	Now() time.Duration
}

// Kind is the kind of an event.
type Kind uint8

// Kinds of events. Each of the first four ends a request but for a Completed one
// after Answered, and all but Answered are the last of theirs.
const (
	Completed Kind = iota // the rollout is there, and its reward can be asked for
	Answered              // the rollout is there; a Completed event follows with its reward
	Aborted               // the request has ended without one, as asked
	Failed                // the request has ended without one, by a fault
	Computed              // the background computation is done
	Exhausted             // the engine may spend no more: the stage under way is dropped
)

// Event is something that happened to a request, or in the background.
type Event struct {
	Kind    Kind
	Request int // as given to Submit
	Replica int // that had the request, from 0

	// Started is when the replica began to work on the request, Finished when
	// it ended; both by the engine's clock. Started is negative if the replica
	// has not been seen to begin.
	Started, Finished time.Duration

	// Prompt and Generated are the tokens of the rollout; of a request that was
	// aborted, those seen before its end.
	Prompt, Generated int

	Err error // of Failed
}
