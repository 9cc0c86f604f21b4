package router_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"speceval/internal/fleet/imitation"
	"speceval/internal/servers/router"
	"speceval/internal/servers/vllm"
	"speceval/method/controller"
)

// TestPlacesAreTheRouters keeps a place until the event is taken: the router
// counts what it knows, and so does the choice of a replica.
func TestPlacesAreTheRouters(t *testing.T) {
	b := setUp(t, 2, nil)
	e := b.begin()
	e.Submit(0, of(5))
	e.Submit(1, of(endless))
	until(t, func() bool { return b.metrics(0).GenerationTokens == 5 && b.metrics(0).Running == 0 })
	e.Submit(2, of(endless)) // replica 0, both have one
	e.Submit(3, of(endless)) // replica 1
	event := next(t, e)
	if event.Request != 0 || event.Kind != router.Completed {
		t.Errorf("event %+v", event)
	}
	for i, want := range []int{0, 1, 0} {
		e.Abort(i + 1)
		if event := next(t, e); event.Kind != router.Aborted || event.Request != i+1 || event.Replica != []int{1, 0, 1}[i] {
			t.Errorf("abort of %d: %+v, want replica %d", i+1, event, want)
		}
	}
	closes(t, e)
}

func TestAbort(t *testing.T) {
	b := setUp(t, 1, func(_ int, s *imitation.Settings, _ *router.Worker) { s.MaxSequences = 1 })
	e := b.begin()
	e.Submit(0, of(endless))
	b.running(0, 1, 20)
	e.Submit(1, of(endless))
	until(t, func() bool { return b.metrics(0).Waiting == 1 })
	e.Abort(7) // nobody
	e.Abort(1)
	event := next(t, e)
	if event.Kind != router.Aborted || event.Request != 1 || event.Started >= 0 || event.Prompt != 0 || event.Generated != 0 {
		t.Errorf("a request that waited: %+v", event)
	}
	e.Abort(0)
	e.Abort(0)
	event = next(t, e)
	if event.Kind != router.Aborted || event.Request != 0 || event.Started < 0 || event.Prompt == 0 || event.Generated < 1 || event.Finished < event.Started {
		t.Errorf("a request that ran: %+v", event)
	}
	e.Abort(0) // has ended
	until(t, func() bool { m := b.metrics(0); return m.Running+m.Waiting == 0 })
	if made := b.metrics(0).GenerationTokens; made < float64(event.Generated) || made > float64(event.Generated)+256 {
		t.Errorf("the replica made %v tokens, the event has %d", made, event.Generated)
	}
	closes(t, e)
}

// TestAbortRace aborts requests about when they complete: each has one event,
// of one kind or the other, and no place is lost.
func TestAbortRace(t *testing.T) {
	b := setUp(t, 2, func(_ int, s *imitation.Settings, _ *router.Worker) { s.Speed = 20 })
	e := b.begin()
	for round := range 40 {
		for i := range 4 {
			e.Submit(4*round+i, of(1+2*i+round%7))
		}
		time.Sleep(time.Duration(round) * 50 * time.Microsecond)
		for i := range 4 {
			e.Abort(4*round + i)
		}
		seen := map[int]bool{}
		for range 4 {
			event := next(t, e)
			seen[event.Request] = true
			want := 1 + 2*(event.Request%4) + round%7
			if complete := event.Kind == router.Completed; !complete && event.Kind != router.Aborted || complete && event.Generated != want || event.Generated > want || event.Request/4 != round {
				t.Errorf("round %d: %d tokens, want %d: %+v", round, event.Generated, want, event)
			}
		}
		if len(seen) != 4 {
			t.Fatalf("round %d: events of %v", round, seen)
		}
	}
	closes(t, e)
}

// TestClose ends requests, and the scoring of an answer, after Next and Compute.
func TestClose(t *testing.T) {
	scored := false
	b := setUp(t, 2, func(_ int, _ *imitation.Settings, w *router.Worker) {
		w.Answer = func(ctx context.Context, _ controller.ID, _ vllm.Completion) error {
			<-ctx.Done()
			time.Sleep(100 * time.Millisecond)
			scored = true
			return ctx.Err()
		}
	})
	e := b.begin()
	e.Submit(0, of(2))
	if event := next(t, e); event.Kind != router.Answered {
		t.Errorf("event %+v", event)
	}
	for i := range 4 {
		e.Submit(1+i, of(endless))
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := e.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	done := false
	e.Compute(func() { done = true }) // the run goes on
	if event := next(t, e); event.Kind != router.Computed || !done || event.Finished < event.Started {
		t.Errorf("event %+v, done %v", event, done)
	}
	b.running(0, 2, 10)
	b.running(1, 2, 10)
	if closes(t, e); !scored {
		t.Error("an answer is scored after the run")
	}
	for i := range b.replicas {
		if m := b.metrics(i); m.Running+m.Waiting != 0 {
			t.Errorf("replica %d has %d requests after the run", i, m.Running+m.Waiting)
		}
	}
	if _, err := e.Next(t.Context()); err == nil {
		t.Error("a closed run has events")
	}
	closes(t, b.begin())
}

// TestSurplusIsScored aborts a rollout whose answer is there.
func TestSurplusIsScored(t *testing.T) {
	let, scored := make(chan struct{}), 0
	b := setUp(t, 1, func(_ int, _ *imitation.Settings, w *router.Worker) {
		w.Answer = func(ctx context.Context, _ controller.ID, c vllm.Completion) error {
			<-let
			scored = c.Usage.Completion
			return ctx.Err()
		}
	})
	e := b.begin()
	e.Submit(0, of(3))
	if event := next(t, e); event.Kind != router.Answered || event.Generated != 3 {
		t.Errorf("an answer: %+v", event)
	}
	e.Abort(0)
	close(let)
	if event := next(t, e); event.Kind != router.Completed || scored != 3 {
		t.Errorf("an answer of %d tokens when it is scored: %+v", scored, event)
	}
	closes(t, e)
}
