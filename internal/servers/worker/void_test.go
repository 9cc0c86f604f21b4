package worker_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"speceval/internal/fleet/imitation"
	"speceval/internal/servers/vllm"
	"speceval/internal/servers/worker"
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
		look   time.Duration
		change func(s *imitation.Settings, w *worker.Worker)
		happen func(b *bench, e *worker.Engine)
		want   []string
	}{
		{"a request fails", time.Hour, nil, func(b *bench, e *worker.Engine) {
			b.replicas[1].SetFaults(imitation.Faults{Error: 1})
			e.Submit(1, of(50))
		}, []string{"request 1, task 0 pilot 50, failed", "URL"}},
		{"a replica dies of a request", time.Hour, nil, func(b *bench, e *worker.Engine) {
			e.Submit(1, of(endless))
			b.running(1, 1, 10)
			b.replicas[1].Crash()
		}, []string{"request 1, task 0 pilot 30000, failed", "replica URL is lost"}},
		{"a replica dies without requests", 20 * time.Millisecond, nil, func(b *bench, _ *worker.Engine) {
			b.replicas[1].Crash()
		}, []string{"URL: unreachable"}},
		{"a replica is restarted between two polls", time.Second,
			func(s *imitation.Settings, _ *worker.Worker) { s.Restart = time.Millisecond },
			func(b *bench, _ *worker.Engine) { b.replicas[1].Crash() }, []string{"replica URL was started again"}},
		{"there is no place", time.Hour, nil, func(_ *bench, e *worker.Engine) {
			for i := range 2 * window {
				e.Submit(1+i, of(endless))
			}
		}, []string{"request 4, task 0 pilot 30000: no replica has a free place"}},
		{"a request of somebody else", 20 * time.Millisecond, nil, func(b *bench, e *worker.Engine) {
			e.Submit(1, of(endless))
			b.ask(1, endless)
		}, []string{"replica URL has 2 requests, 1 of them ours: somebody else uses it"}},
		{"somebody else uses the pool", 20 * time.Millisecond, nil, func(b *bench, _ *worker.Engine) {
			go b.Pool.Complete(b.t.Context(), question(endless))
		}, []string{"replica URL has 1 requests, 0 of them ours"}},
		{"tokens of somebody else before a poll", 300 * time.Millisecond,
			func(s *imitation.Settings, _ *worker.Worker) { s.Speed = 20 },
			func(b *bench, _ *worker.Engine) { b.ask(1, 1000)() }, []string{"replica URL has", "somebody else uses it"}},
		{"an answer is not scored", time.Hour, func(_ *imitation.Settings, w *worker.Worker) {
			w.Answer = func(context.Context, controller.ID, vllm.Completion) error { return noJudge }
		}, func(_ *bench, e *worker.Engine) { e.Submit(1, of(3)) }, []string{"request 1, task 0 pilot 3, failed", "no judge"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := setUp(t, 2, func(_ int, s *imitation.Settings, w *worker.Worker) {
				w.Look = tt.look
				if tt.change != nil {
					tt.change(s, w)
				}
			})
			if err := b.WarmUp(t.Context(), question(64)); err != nil {
				t.Fatal(err)
			}
			e := b.begin()
			e.Submit(0, of(endless))
			tt.happen(b, e)
			b.void(e, tt.want...)
		})
	}
}

// TestVoidAtTheEnd is seen by the last comparison alone.
func TestVoidAtTheEnd(t *testing.T) {
	b := setUp(t, 2, func(_ int, s *imitation.Settings, _ *worker.Worker) { s.Restart = time.Millisecond })
	for tokens, want := range map[int]string{50: "", 200: "replica URL has made 400 tokens, 200 of them ours"} {
		e := b.begin()
		e.Submit(0, of(5))
		e.Submit(1, of(200))
		b.ask(1, tokens)()
		next(t, e)
		next(t, e)
		if want == "" {
			closes(t, e) // too few to tell
		} else {
			b.voided(e.Close(t.Context()), want)
		}
	}
	// A replica dies of somebody else's request, and is back before a poll.
	e := b.begin()
	e.Submit(0, of(5))
	place, err := b.Pool.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
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
