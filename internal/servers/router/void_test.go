package router_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"speceval/internal/fleet/imitation"
	"speceval/internal/servers/router"
	"speceval/internal/servers/vllm"
	"speceval/method/controller"
)

// ask sends a request that is not the worker's, and waits for its end when the
// test ends.
func (b *bench) ask(i, tokens int) (wait func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { b.clients[i].Stream(ctx, question(tokens), nil) })
	b.t.Cleanup(func() { cancel(); all.Wait() })
	return all.Wait
}

// TestVoid has two replicas, the first with a request that does not end, when
// something happens that voids a run.
func TestVoid(t *testing.T) {
	noJudge := errors.New("no judge")
	for _, tt := range []struct {
		name   string
		change func(s *imitation.Settings, w *router.Worker)
		happen func(b *bench, e *router.Timed)
		want   []string
	}{
		{"a request fails", nil, func(b *bench, e *router.Timed) {
			b.replicas[1].SetFaults(imitation.Faults{Error: 1})
			e.Submit(1, of(50))
		}, []string{"request 1, task 0 pilot 50, failed", "URL"}},
		{"a replica dies of a request", nil, func(b *bench, e *router.Timed) {
			e.Submit(1, of(endless))
			b.running(1, 1, 10)
			b.replicas[1].Crash()
		}, []string{"request 1, task 0 pilot 30000, failed", "replica URL is lost"}},
		{"there is no place", nil, func(_ *bench, e *router.Timed) {
			for i := range 2 * window {
				e.Submit(1+i, of(endless))
			}
		}, []string{"request 4, task 0 pilot 30000: no replica has a free place"}},
		{"an answer is not scored", func(_ *imitation.Settings, w *router.Worker) {
			w.Answer = func(context.Context, controller.ID, vllm.Completion) error { return noJudge }
		}, func(_ *bench, e *router.Timed) { e.Submit(1, of(3)) }, []string{"request 1, task 0 pilot 3, failed", "no judge"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := setUp(t, 2, func(_ int, s *imitation.Settings, w *router.Worker) {
				if tt.change != nil {
					tt.change(s, w)
				}
			})
			ok(t, b.WarmUp(t.Context(), question(64), 1))
			e := b.begin()
			e.Submit(0, of(endless))
			tt.happen(b, e)
			b.void(e, tt.want...)
		})
	}
}

// TestVoidAtTheEnd compares with the metrics.
func TestVoidAtTheEnd(t *testing.T) {
	b := setUp(t, 2, func(_ int, s *imitation.Settings, _ *router.Worker) { s.Restart = time.Millisecond })
	for want, happen := range map[string]func(){
		"": func() {},
		"replica URL has answered 2 requests, 1 of them ours": func() { b.ask(1, 50)() },
		"replica URL has made ": func() { // of a request that somebody else gave up
			ctx, cancel := context.WithCancel(t.Context())
			b.clients[1].Stream(ctx, question(endless), func(p vllm.Piece) {
				if p.Usage.Completion > 300 {
					cancel()
				}
			})
			cancel()
		},
		"replica URL was started again": func() {
			b.replicas[1].Crash()
			until(t, func() bool { return b.clients[1].Health(t.Context()) == nil })
		},
	} {
		e := b.begin()
		e.Submit(0, of(5))
		e.Submit(1, of(200))
		next(t, e)
		next(t, e)
		if happen(); want == "" {
			closes(t, e)
		} else {
			b.voided(e.Close(t.Context()), want)
		}
	}
	// A replica dies of somebody else's request, and is back before a poll.
	e := b.begin()
	e.Submit(0, of(5))
	place := must(b.Pool.Take(t.Context()))
	failed := make(chan error)
	go func() {
		_, err := place.Stream(question(endless), nil)
		failed <- err
	}()
	b.running(1, 1, 1)
	b.replicas[1].Crash()
	if err := <-failed; err == nil {
		t.Error("the request survived its replica")
	}
	place.Release()
	next(t, e)
	until(t, func() bool { return b.Pool.Alive() == 2 })
	b.voided(e.Close(t.Context()), "replica URL was lost")
}
