package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"speceval/internal/pool"
	"speceval/internal/router"
	"speceval/method/controller"
)

var _ router.Engine = (*Engine)(nil)

// Engine is the replicas during one run. Its methods are for one goroutine.
// When a run becomes void Next says so, in an error that wraps ErrVoid.
type Engine struct {
	pool     *pool.Pool
	settings Settings
	guard    *guard
	slots    int
	start    time.Time

	ctx   context.Context // of the run
	end   context.CancelFunc
	tasks sync.WaitGroup

	events      chan router.Event // with room for the ends of all requests that have a place
	outstanding map[int]*request  // whose last event was not taken
	now         time.Duration     // as last told
	waiting     atomic.Int64      // since when Next waits, in nanoseconds of the run; 0: it does not

	closing sync.Once
	broken  chan struct{} // closed when fault is set
	mu      sync.Mutex
	fault   error
}

func newEngine(ctx context.Context, w *Worker, g *guard) *Engine {
	e := &Engine{
		pool: w.pool, settings: w.settings, guard: g, slots: w.pool.Slots(),
		outstanding: make(map[int]*request), broken: make(chan struct{}),
	}
	e.events = make(chan router.Event, e.slots+1)
	e.ctx, e.end = context.WithCancel(ctx)
	e.start = w.settings.Clock.Now()
	e.tasks.Go(e.watch)
	return e
}

// Slots is the window of every replica. It stays the same when one is lost.
func (e *Engine) Slots() int { return e.slots }

// Now is the time since Begin returned.
func (e *Engine) Now() time.Duration {
	now := e.settings.Clock.Now().Sub(e.start)
	if now < e.now {
		e.void(fmt.Errorf("the clock went back by %v", e.now-now))
		return e.now
	}
	e.now = now
	return now
}

// since is a time of the clock in the run.
func (e *Engine) since(t time.Time) time.Duration { return max(0, t.Sub(e.start)) }

// Submit takes a place, in the order of the calls, and sends the rollout's
// request in the background. Where there is no place the run is void.
func (e *Engine) Submit(number int, id controller.ID) {
	ctx, cancel := context.WithCancel(e.ctx)
	place, err := e.pool.Take(ctx)
	if err != nil {
		cancel()
		e.void(fmt.Errorf("request %d, %s: %w", number, id, errors.Join(err, e.guard.pooled())))
		return
	}
	r := &request{number: number, id: id, place: place, ctx: ctx, abort: cancel, tally: e.guard.tallies[place.Replica()]}
	r.tally.submitted()
	e.outstanding[number] = r
	e.tasks.Go(func() { e.carry(r) })
}

// Abort closes the request's connection, which ends it at the replica. Of one
// that has ended, nothing happens.
func (e *Engine) Abort(number int) {
	if r := e.outstanding[number]; r != nil {
		r.abort()
	}
}

// Compute runs f in a goroutine of its own. If it panics, Next says so.
func (e *Engine) Compute(f func()) {
	e.tasks.Go(func() {
		started, ended := e.since(e.settings.Clock.Now()), false
		defer func() {
			if !ended {
				e.fail(fmt.Errorf("the background computation panicked: %v\n%s", recover(), debug.Stack()))
			}
		}()
		f()
		ended = true
		select {
		case e.events <- router.Event{Kind: router.Computed, Started: started, Finished: e.since(e.settings.Clock.Now())}:
		case <-e.ctx.Done():
		}
	})
}

// Next waits for the next event. A request keeps its place until its first event is
// taken. After a Failed one, whose error wraps ErrVoid, and whenever else the run
// is void or a computation has panicked, the error says why.
func (e *Engine) Next(ctx context.Context) (router.Event, error) {
	if err := e.over(ctx); err != nil {
		return router.Event{}, err
	}
	e.waiting.Store(max(1, int64(e.since(e.settings.Clock.Now()))))
	defer e.waiting.Store(0)
	select {
	case event := <-e.events:
		if e.ctx.Err() != nil { // it may be the run's end that aborted it
			return router.Event{}, e.over(ctx)
		}
		return e.deliver(event), nil
	case <-e.broken:
	case <-e.ctx.Done():
	case <-ctx.Done():
	}
	return router.Event{}, e.over(ctx)
}

// over says why there will be no more events; nil if there may be.
func (e *Engine) over(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.fault != nil:
		return e.fault
	case ctx.Err() != nil:
		return ctx.Err()
	case e.ctx.Err() != nil:
		return fmt.Errorf("the run has ended: %w", e.ctx.Err())
	}
	return nil
}

// deliver gives the place of a request back whose event is taken. A failure
// voids the run.
func (e *Engine) deliver(event router.Event) router.Event {
	if event.Kind == router.Computed {
		return event
	}
	r := e.outstanding[event.Request]
	r.place.Release() // nothing, if it was released before
	if event.Kind == router.Answered {
		return event
	}
	delete(e.outstanding, event.Request)
	r.abort() // it has ended: this frees its context
	if event.Kind == router.Failed {
		event.Err = fmt.Errorf("%w: request %d, %s, failed: %w", ErrVoid, r.number, r.id, event.Err)
		e.fail(event.Err)
	}
	return event
}

// void ends the run because its times mean nothing.
func (e *Engine) void(reason error) { e.fail(fmt.Errorf("%w: %w", ErrVoid, reason)) }

// fail ends the run with its first fault.
func (e *Engine) fail(fault error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fault == nil {
		e.fault = fault
		close(e.broken)
	}
}

// Close aborts what is outstanding, waits until the replicas have nothing left
// to do, and says whether the run was void. It is outside the run's time. After
// the end of the context of Begin it says that, and asks the replicas nothing.
func (e *Engine) Close(ctx context.Context) error {
	e.closing.Do(func() {
		ended := e.ctx.Err()
		e.end()
		e.tasks.Wait()
		for _, r := range e.outstanding {
			r.place.Release()
		}
		if ended != nil {
			e.fail(fmt.Errorf("the run was given up: %w", ended))
		}
		e.mu.Lock()
		over := e.fault != nil
		e.mu.Unlock()
		if over {
			return
		}
		switch err := e.guard.settle(ctx, e.settings.Clock); {
		case err == nil:
		case ctx.Err() != nil:
			e.fail(errors.Join(errors.New("it is not known whether the run is void"), err))
		default:
			e.void(err)
		}
	})
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.fault
}
