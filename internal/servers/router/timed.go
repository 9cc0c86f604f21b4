package router

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"speceval/internal/servers/pool"
	"speceval/internal/servers/vllm"
	"speceval/method/controller"
)

// Timed is the replicas during one run, an Engine. When a run becomes void it ends, and Next says
// so in an error that wraps ErrVoid.
type Timed struct {
	Worker
	lost  int     // how many replicas the pool had lost when the run began
	loads []*load // of the replicas
	start time.Time

	ctx   context.Context // of the run, with the cause of its end
	end   context.CancelCauseFunc
	tasks sync.WaitGroup

	events      chan Event       // with room for the ends of all requests that have a place
	outstanding map[int]*request // whose last event was not taken
}

// request is a rollout on its way.
type request struct {
	number int
	id     controller.ID
	place  *pool.Place
	ctx    context.Context
	abort  context.CancelFunc
	load   *load // of its replica
}

// Slots is the window of every replica. It stays the same when one is lost.
func (e *Timed) Slots() int { return e.Pool.Places() }

// Now is the time since Begin returned.
func (e *Timed) Now() time.Duration { return e.since(e.Clock.Now()) }

// since is a time of the clock in the run.
func (e *Timed) since(t time.Time) time.Duration { return max(0, t.Sub(e.start)) }

// void ends the run because its times mean nothing. The first reason counts.
func (e *Timed) void(r *request, reason error) {
	e.end(fmt.Errorf("%w: request %d, %s%w", ErrVoid, r.number, r.id, reason))
}

// Submit takes a place, in the order of the calls, and sends the rollout's
// request in the background. Where there is no place the run is void.
func (e *Timed) Submit(number int, id controller.ID) {
	ctx, cancel := context.WithCancel(e.ctx)
	r := &request{number: number, id: id, ctx: ctx, abort: cancel}
	var err error
	if r.place, err = e.Pool.Take(ctx); err != nil {
		cancel()
		e.void(r, fmt.Errorf(": %w", errors.Join(err, e.losses())))
		return
	}
	r.load = e.loads[r.place.Replica()]
	e.outstanding[number] = r
	e.tasks.Go(func() {
		if err := e.carry(r); err != nil {
			e.void(r, fmt.Errorf(", failed: %w", err))
		}
	})
}

// carry streams a request and gives its events: of its end, and where somebody takes
// the completion, of when that is done.
func (e *Timed) carry(r *request) error {
	started, tokens := time.Duration(-1), 0
	completion, err := r.place.Stream(e.Request(r.id), func(p vllm.Piece) {
		if started < 0 {
			started = e.Now()
		}
		if p.Usage.Counted() {
			r.load.tokens.Add(int64(p.Usage.Completion - tokens))
			tokens = p.Usage.Completion
		}
	})
	ended := &r.load.answered
	if err != nil {
		ended = &r.load.broken
	}
	ended.Add(1)
	event := Event{Kind: Completed, Request: r.number, Replica: r.place.Replica(), Started: started, Finished: e.since(completion.Finished)}
	if u := completion.Usage; u.Counted() {
		event.Prompt, event.Generated = u.Prompt, u.Completion
	} else if err == nil {
		return errors.New("an answer without counts of tokens, which are what a run costs: serve the model by vLLM")
	}
	switch {
	case err != nil && (r.ctx.Err() == nil || !errors.Is(err, context.Canceled)):
		return err
	case err != nil:
		event.Kind = Aborted
	case e.Answer != nil:
		event.Kind = Answered
		e.give(event)
		if err := e.Answer(e.ctx, r.id, completion); err != nil { // not r.ctx: surplus that has completed is scored, too
			return err
		}
		event.Kind = Completed
	}
	e.give(event)
	return nil
}

// give puts an event where Next finds it, unless the run is over.
func (e *Timed) give(event Event) {
	select {
	case e.events <- event:
	case <-e.ctx.Done():
	}
}

// Abort closes the request's connection, which ends it at the replica. Of one
// that has ended, nothing happens.
func (e *Timed) Abort(number int) {
	if r := e.outstanding[number]; r != nil {
		r.abort()
	}
}

// Compute runs f in a goroutine of its own.
func (e *Timed) Compute(f func()) {
	e.tasks.Go(func() {
		started := e.Now()
		f()
		e.give(Event{Kind: Computed, Started: started, Finished: e.Now()})
	})
}

// Next waits for the next event. A request keeps its place until its first event is
// taken. When the run is over, the error says why.
func (e *Timed) Next(ctx context.Context) (Event, error) {
	var event Event
	select {
	case event = <-e.events:
	case <-e.ctx.Done():
	case <-ctx.Done():
		return event, ctx.Err()
	}
	if e.ctx.Err() != nil { // it may have aborted the event's request
		return Event{}, context.Cause(e.ctx)
	}
	if r := e.outstanding[event.Request]; event.Kind != Computed {
		r.place.Release() // nothing, if it was released before
		if event.Kind != Answered {
			delete(e.outstanding, event.Request)
			r.abort() // it has ended: this frees its context
		}
	}
	return event, nil
}

// errClosed is why a run ends that was good.
var errClosed = errors.New("the run is closed")

// Close aborts what is outstanding, waits until the replicas have nothing left
// to do, and says whether the run was void. It is outside the run's time. After
// the end of the context of Begin it says that, and asks the replicas nothing.
func (e *Timed) Close(ctx context.Context) error {
	ended := context.Cause(e.ctx)
	e.end(errClosed)
	e.tasks.Wait()
	for _, r := range e.outstanding {
		r.place.Release()
	}
	if ended != nil {
		return ended
	}
	err := errors.Join(e.each(func(l *load) error { return l.end(ctx, e.Clock) }), e.losses())
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("it is not known whether the run is void: %w", err)
	}
	return fmt.Errorf("%w: %w", ErrVoid, err)
}

// each does something with the loads of all replicas at once.
func (e *Timed) each(do func(l *load) error) error {
	faults := make([]error, len(e.loads))
	var all sync.WaitGroup
	for i, l := range e.loads {
		all.Go(func() { faults[i] = do(l) })
	}
	all.Wait()
	return errors.Join(faults...)
}

// losses tells of replicas that the pool has lost during the run.
func (e *Timed) losses() error {
	if lost := e.Pool.Lost()[e.lost:]; len(lost) > 0 {
		return fmt.Errorf("replica %s was lost", strings.Join(lost, ", "))
	}
	return nil
}
