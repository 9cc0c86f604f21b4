package router

import (
	"context"
	"errors"
	"fmt"
	"time"

	"speceval/internal/machine/clock"
	"speceval/internal/servers/pool"
	"speceval/internal/servers/vllm"
	"speceval/method/controller"
)

// ErrVoid is wrapped by the error of a run whose times mean nothing. The replicas may be fit
// for the same run again.
var ErrVoid = errors.New("the timed run is void")

// Worker is the replicas of one worker, for one run at a time. They are warmed up once, and
// drained before every run. A run during which a replica was lost, a request failed
// or another client used a replica is void. Whatever the pool's settings, no request of a run is
// sent twice.
type Worker struct {
	Pool *pool.Pool // without another user
	// Request returns the request for a rollout; called by many goroutines at a time.
	Request func(controller.ID) vllm.Request
	// Answer takes the completion of a rollout, whose place is free by then; its reward is
	// there when it returns. An error voids the run. nil: completions are discarded.
	Answer   func(context.Context, controller.ID, vllm.Completion) error
	Replicas int           // that the pool must have; 0: any number
	Return   time.Duration // longest wait before a run for replicas that are out; 0: none
	Clock    clock.Clock
}

const (
	// warmUpTokens is the length of the longest answer to warm a replica up; answers differ
	// by a step, so that they end one by one as those of a run do.
	warmUpTokens, warmUpStep = 64, 16
	warmUpWithin             = 600 * time.Second
	// returnPoll is the pause between two questions whether all replicas are back.
	returnPoll = 200 * time.Millisecond
)

// WarmUp is a run that asks every replica for the beginnings of answers, each of them at a
// time as far as there are places, with the request's seed and the number of the request
// added. All must complete. Replicas are not compared: after a void run their counts of
// tokens may be late.
func (w Worker) WarmUp(ctx context.Context, request vllm.Request, each int) error {
	replicas := int32(len(w.Pool.Replicas()))
	w.Answer = nil
	w.Request = func(id controller.ID) vllm.Request {
		r := request
		r.Seed, r.MaxTokens = r.Seed+int64(id.Ordinal), warmUpTokens-warmUpStep*int(id.Ordinal/replicas%4)
		return r
	}
	limited, cancel := context.WithTimeoutCause(ctx, warmUpWithin, fmt.Errorf("it took more than %v", warmUpWithin))
	defer cancel()
	e, err := w.Begin(limited)
	if err != nil {
		return err
	}
	all, sent := each*len(e.loads), 0
	for done := 0; done < all && err == nil; done++ {
		for ; sent < min(all, done+e.Slots()); sent++ {
			e.Submit(sent, controller.ID{Ordinal: int32(sent)})
		}
		_, err = e.Next(limited)
	}
	e.end(errClosed)
	if err := e.Close(limited); !errors.Is(err, errClosed) && ctx.Err() == nil {
		return fmt.Errorf("warm-up: %v", err) // no run is void by it
	}
	return ctx.Err()
}

// Begin waits for replicas that are out, drains all, and begins a run at the present time; they
// cache no prefixes, which pools see to. When ctx ends the run's requests are aborted. The engine
// must be closed.
func (w Worker) Begin(ctx context.Context) (*Timed, error) {
	all := w.Pool.Replicas()
	if want := w.Replicas; want > 0 && len(all) != want {
		return nil, fmt.Errorf("%d replicas serve the model, want %d: start the others, or set the number in the configuration", len(all), want)
	}
	for waited := time.Duration(0); w.Pool.Alive() < len(all); waited += returnPoll {
		if waited >= w.Return {
			return nil, fmt.Errorf("%d of %d replicas are out: start them again", len(all)-w.Pool.Alive(), len(all))
		}
		if err := w.Clock.Sleep(ctx, returnPoll); err != nil {
			return nil, err
		}
	}
	e := &Timed{Worker: w, lost: len(w.Pool.Lost()), outstanding: make(map[int]*request)}
	for _, r := range all {
		e.loads = append(e.loads, &load{Replica: r})
	}
	err := e.each(func(l *load) (err error) {
		if l.before, err = l.drain(ctx, w.Clock, drainWithin); err != nil {
			return err
		}
		return l.Client.Health(ctx)
	})
	if err != nil || ctx.Err() != nil {
		return nil, errors.Join(err, ctx.Err())
	}
	e.events = make(chan Event, e.Slots()+1)
	e.ctx, e.end = context.WithCancelCause(ctx)
	e.start = w.Clock.Now()
	return e, nil
}
