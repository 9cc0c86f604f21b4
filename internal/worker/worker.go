// Package worker is one worker's vLLM replicas as an engine of the router,
// under the wall clock. The replicas are warmed up once; before every run they
// are drained and reset, and during it they are watched: a run during which a
// replica was lost, a request failed or another client used a replica is void.
package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"speceval/internal/clock"
	"speceval/internal/pool"
	"speceval/internal/router"
	"speceval/internal/vllm"
	"speceval/method/controller"
)

// ErrVoid is what the error of a run wraps whose times mean nothing. The
// replicas may be fit for the same run again.
var ErrVoid = errors.New("the timed run is void")

// Settings are how a worker works. The zero value of a time is a default.
type Settings struct {
	// Request is what to ask for a rollout. It is called by many goroutines at a
	// time.
	Request func(controller.ID) vllm.Request
	// Answer takes the completion of a rollout, on a goroutine of the request, whose
	// place is free by then; the rollout's reward is there when it returns. An error
	// voids the run. nil: completions are discarded.
	Answer   func(context.Context, controller.ID, vllm.Completion) error
	Replicas int           // that the pool must have; 0: any number
	Return   time.Duration // longest wait before a run for replicas that are out; 0: none
	Look     time.Duration // interval between polls of the replicas' metrics during a run; 0: 5 s
	Silence  time.Duration // longest wait for an event; 0: an hour
	Clock    clock.Clock   // nil: clock.Wall
}

// Worker is the replicas of one worker, for one run at a time.
type Worker struct {
	pool     *pool.Pool
	settings Settings
}

// New makes a worker of a pool that has no other user. Whatever the pool's
// settings, no request of a run is sent twice.
func New(p *pool.Pool, s Settings) *Worker {
	if s.Look <= 0 {
		s.Look = 5 * time.Second
	}
	if s.Silence <= 0 {
		s.Silence = time.Hour
	}
	if s.Clock == nil {
		s.Clock = clock.Wall{}
	}
	return &Worker{pool: p, settings: s}
}

// The warm-up: a short answer of every replica.
const (
	warmUpTokens = 64
	warmUpWithin = 600 * time.Second
)

// WarmUp asks every replica for the beginning of an answer, with the request's
// seed and the number of the replica added. All must complete.
func (w *Worker) WarmUp(ctx context.Context, request vllm.Request) error {
	if err := w.whole(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	places := make([]*pool.Place, len(w.pool.Replicas()))
	for i := range places {
		place, err := w.pool.Take(ctx)
		if err == nil {
			defer place.Release()
			if place.Replica() != i {
				err = errors.New("somebody else uses the replicas")
			}
		}
		if err != nil {
			return fmt.Errorf("warm-up of replica %s: %w", w.pool.Replicas()[i], err)
		}
		places[i] = place
	}
	go func() {
		if w.settings.Clock.Sleep(ctx, warmUpWithin) == nil {
			cancel(fmt.Errorf("it took more than %v", warmUpWithin))
		}
	}()
	faults := make([]error, len(places))
	var all sync.WaitGroup
	for i, place := range places {
		all.Go(func() {
			r := request
			r.Seed, r.MaxTokens = r.Seed+int64(i), warmUpTokens
			if _, err := place.Stream(r, nil); err != nil {
				faults[i] = fmt.Errorf("warm-up of replica %s: %w", w.pool.Replicas()[i], err)
			}
		})
	}
	all.Wait()
	if cause := context.Cause(ctx); cause != nil {
		faults = append(faults, cause)
	}
	return errors.Join(faults...)
}

// returnLook is the pause between two looks whether all replicas are back.
const returnLook = 200 * time.Millisecond

// whole waits until no replica is out.
func (w *Worker) whole(ctx context.Context) error {
	all := len(w.pool.Replicas())
	if want := w.settings.Replicas; want > 0 && all != want {
		return fmt.Errorf("%d replicas serve the model, want %d: start the others, or set the number in the configuration", all, want)
	}
	for waited := time.Duration(0); w.pool.Alive() < all; waited += returnLook {
		if waited >= w.settings.Return {
			return fmt.Errorf("%d of %d replicas are out: start them again", all-w.pool.Alive(), all)
		}
		if err := w.settings.Clock.Sleep(ctx, returnLook); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Begin drains and resets the replicas, and begins a run at the present time.
// When ctx ends the run's requests are aborted. The engine must be closed.
func (w *Worker) Begin(ctx context.Context) (*Engine, error) {
	if err := w.whole(ctx); err != nil {
		return nil, err
	}
	if err := w.pool.Reset(ctx); err != nil {
		return nil, err
	}
	guard, err := newGuard(ctx, w.pool)
	if err != nil {
		return nil, err
	}
	return newEngine(ctx, w, guard), nil
}

// request is a rollout on its way.
type request struct {
	number int
	id     controller.ID
	place  *pool.Place
	ctx    context.Context
	abort  context.CancelFunc
	counts *requestCounts // of its replica
}

// carry gives the events of a request: of its end, and where somebody takes the
// completion, of when that is done.
func (e *Engine) carry(r *request) {
	event, completion := e.send(r)
	if event.Kind != router.Completed || e.settings.Answer == nil {
		e.give(event)
		return
	}
	event.Kind = router.Answered
	e.give(event)
	err := e.settings.Answer(e.ctx, r.id, completion) // not r.ctx: surplus that has completed is scored, too
	if event.Kind = router.Completed; err != nil {
		event.Kind, event.Err = router.Failed, err
	}
	e.give(event)
}

// errUncounted is of a server that tells no tokens: what a run costs could not
// be said.
var errUncounted = errors.New("an answer without counts of tokens: serve the model by vLLM")

// give puts an event where Next finds it, unless the run is over.
func (e *Engine) give(event router.Event) {
	select {
	case e.events <- event:
	case <-e.ctx.Done():
	}
}

// send streams a request to its end, and is the event of that. Of the pieces
// that come in between only the counts of tokens are kept.
func (e *Engine) send(r *request) (router.Event, vllm.Completion) {
	started, tokens := time.Duration(-1), 0
	completion, err := r.place.Stream(e.settings.Request(r.id), func(p vllm.Piece) {
		if started < 0 {
			started = e.since(e.settings.Clock.Now())
		}
		if p.Usage.Told() {
			r.counts.tokens.Add(int64(p.Usage.Completion - tokens))
			tokens = p.Usage.Completion
		}
	})
	r.counts.ended(err != nil)
	event := router.Event{
		Request: r.number, Replica: r.place.Replica(),
		Started: started, Finished: e.since(completion.Finished),
	}
	if u := completion.Usage; u.Told() {
		event.Prompt, event.Generated = u.Prompt, u.Completion
	} else if err == nil {
		err = errUncounted
	}
	switch {
	case err == nil:
		event.Kind = router.Completed
	case r.ctx.Err() != nil && errors.Is(err, context.Canceled):
		event.Kind = router.Aborted
	default:
		event.Kind, event.Err = router.Failed, err
	}
	return event, completion
}
