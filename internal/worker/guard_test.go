package worker_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"speceval/internal/fleet/imitation"
	"speceval/internal/router"
	"speceval/internal/worker"
)

// watched has short times between looks.
func watched(_ int, _ *imitation.Settings, w *worker.Settings) { w.Look = 20 * time.Millisecond }

// void waits for a run to be void.
func void(t *testing.T, e *worker.Engine, words ...string) {
	t.Helper()
	for {
		if _, err := e.Next(t.Context()); err != nil {
			voided(t, err, words...)
			voided(t, e.Close(t.Context()), words...)
			return
		}
	}
}

func TestFailedRequest(t *testing.T) {
	b := setUp(t, 2, nil)
	b.replicas[1].SetFaults(imitation.Faults{Error: 1})
	e := b.begin()
	e.Submit(0, of(endless))
	e.Submit(1, of(50))
	event := next(t, e)
	if event.Kind != router.Failed || event.Request != 1 || event.Replica != 1 || event.Err == nil || event.Generated == 0 {
		t.Errorf("event %+v", event)
	}
	void(t, e, "request 1, task 0 pilot 50, failed", b.replicas[1].URL())
}

func TestLostReplica(t *testing.T) {
	b := setUp(t, 2, nil)
	e := b.begin()
	for i := range 4 {
		e.Submit(i, of(endless))
	}
	b.running(1, 2, 10)
	b.replicas[1].Crash()
	event := next(t, e)
	if event.Kind != router.Failed || event.Replica != 1 || e.Slots() != 4 {
		t.Errorf("event %+v, %d slots", event, e.Slots())
	}
	void(t, e, "replica "+b.replicas[1].URL()+" is lost")
}

func TestLostReplicaWithoutRequests(t *testing.T) {
	b := setUp(t, 2, watched)
	e := b.begin()
	e.Submit(0, of(endless))
	b.replicas[1].Crash()
	void(t, e, "replica "+b.replicas[1].URL()+" does not tell its metrics")
}

// TestRestartedReplica is found by its counts, when a look comes late enough.
func TestRestartedReplica(t *testing.T) {
	b := setUp(t, 2, func(_ int, s *imitation.Settings, w *worker.Settings) {
		s.Restart, w.Look = time.Millisecond, time.Second
	})
	if err := b.WarmUp(t.Context(), question(64)); err != nil {
		t.Fatal(err)
	}
	e := b.begin()
	e.Submit(0, of(endless))
	b.replicas[1].Crash()
	void(t, e, "replica "+b.replicas[1].URL(), "was started again")
}

func TestTooManyRequests(t *testing.T) {
	b := setUp(t, 1, nil)
	e := b.begin()
	for i := range 3 {
		e.Submit(i, of(endless))
	}
	void(t, e, "request 2, task 0 pilot 30000: no replica has a free place")
}

// ask sends a request that is not the worker's, and waits for its end when the
// test ends.
func (b *bench) ask(i, tokens int) (wait func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { b.clients[i].Stream(ctx, question(tokens), nil) })
	b.t.Cleanup(func() { cancel(); all.Wait() })
	return all.Wait
}

func TestForeignRequests(t *testing.T) {
	b := setUp(t, 2, watched)
	e := b.begin()
	e.Submit(0, of(endless))
	e.Submit(1, of(endless))
	b.ask(1, endless)
	void(t, e, "replica "+b.replicas[1].URL()+" has 2 requests, 1 of them ours")
}

// TestForeignTokens has the foreign request between two looks.
func TestForeignTokens(t *testing.T) {
	b := setUp(t, 2, nil)
	e := b.begin()
	e.Submit(0, of(200))
	b.ask(0, 50)()
	next(t, e)
	closes(t, e) // too few to tell

	e = b.begin()
	e.Submit(0, of(200))
	b.ask(0, 200)()
	next(t, e)
	voided(t, e.Close(t.Context()), "replica "+b.replicas[0].URL()+" has made 400 tokens, 200 of them ours")
}

// TestForeignTokensDuringARun has the foreign request before the first look.
func TestForeignTokensDuringARun(t *testing.T) {
	b := setUp(t, 1, func(_ int, s *imitation.Settings, w *worker.Settings) {
		s.Speed, w.Look = 20, 300*time.Millisecond
	})
	e := b.begin()
	e.Submit(0, of(endless))
	b.ask(0, 1000)()
	void(t, e, "replica "+b.replicas[0].URL()+" has", "somebody else uses it")
}

func TestForeignUserOfThePool(t *testing.T) {
	b := setUp(t, 1, watched)
	e := b.begin()
	go b.pool.Complete(t.Context(), question(endless))
	void(t, e, "1 requests, 0 of them ours")
}

func TestSilence(t *testing.T) {
	b := setUp(t, 1, func(_ int, _ *imitation.Settings, w *worker.Settings) {
		w.Look, w.Silence = 10*time.Millisecond, 50*time.Millisecond
	})
	e := b.begin()
	e.Submit(0, of(endless))
	void(t, e, "no event for")
}

// TestReplicaThatWasAway dies of a request that is not the worker's, and is back
// before anybody looks.
func TestReplicaThatWasAway(t *testing.T) {
	b := setUp(t, 1, func(_ int, s *imitation.Settings, _ *worker.Settings) { s.Restart = time.Millisecond })
	e := b.begin()
	place, err := b.pool.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error)
	go func() {
		_, err := place.Stream(question(endless), nil)
		failed <- err
	}()
	b.running(0, 1, 1)
	b.replicas[0].Crash()
	if err := <-failed; err == nil {
		t.Error("the request survived its replica")
	}
	place.Release()
	until(t, func() bool { return b.pool.Alive() == 1 })
	voided(t, e.Close(t.Context()), "replica "+b.replicas[0].URL()+" was lost")
}
