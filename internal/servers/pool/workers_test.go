package pool_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"speceval/internal/fleet/imitation"
	"speceval/internal/servers/pool"
	"speceval/internal/servers/vllm"
)

// inVain asks for a worker for a short time.
func inVain(t *testing.T, w *pool.Servers, m pool.Model) {
	t.Helper()
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if lease, err := w.Acquire(short, m); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%s while its workers are lent: %+v, %v", m.ID, lease, err)
	}
}

func TestAWorkerHasOneUser(t *testing.T) {
	a1, a2, ab := running(t, imitation.Settings{Model: "a"}), running(t, imitation.Settings{Model: "a"}), running(t, imitation.Settings{Model: "b"})
	w, log := workers(t,
		pool.Worker{Name: "one", URLs: []string{a1.URL()}},
		pool.Worker{Name: "two", URLs: []string{a2.URL(), ab.URL()}})
	first, second := acquire(t, w, model("a")), acquire(t, w, model("a"))
	if first.Worker != "one" || second.Worker != "two" || first.Pool == second.Pool || first.Places() != 4 || second.Served()[0].URL != a2.URL() {
		t.Errorf("workers %s with %+v and %s with %+v", first.Worker, first.Served(), second.Worker, second.Served())
	}
	inVain(t, w, model("a"))
	inVain(t, w, model("b")) // its replica is of a worker that is lent
	first.Release()
	first.Release()
	inVain(t, w, model("b"))
	second.Release()
	if b := acquire(t, w, model("b")); b.Worker != "two" {
		t.Errorf("b at worker %s", b.Worker)
	} else {
		ask(t, b, "b")
	}
	if again := acquire(t, w, model("a")); again.Pool != first.Pool {
		t.Error("worker one has another pool for the same model")
	}
	if log.all() != "" {
		t.Errorf("said %q", log.all())
	}
}

func TestAModelOfNoWorker(t *testing.T) {
	a, b := running(t, imitation.Settings{Model: "a"}), running(t, imitation.Settings{Model: "b"})
	w, _ := workers(t, pool.Worker{Name: "one", URLs: []string{a.URL()}}, pool.Worker{Name: "two", URLs: []string{b.URL()}})
	_, err := w.Acquire(t.Context(), model("c"))
	if !errors.Is(err, pool.ErrUnserved) || !strings.Contains(err.Error(), "worker one: no server serves \"c\"") || !strings.Contains(err.Error(), b.URL()+": serves \"b\"") {
		t.Errorf("error %v", err)
	}
	short := model("b")
	short.Requires.Version = "0.1"
	if _, err := w.Acquire(t.Context(), short); err == nil || errors.Is(err, pool.ErrUnserved) || !strings.Contains(err.Error(), "worker two:") {
		t.Errorf("a model that is served otherwise than required: %v", err)
	}
	acquire(t, w, model("b")).Release()
	if _, err := pool.NewWorkers(pool.Settings{}).Acquire(t.Context(), model("a")); err == nil || !strings.Contains(err.Error(), "add a [[worker]]") {
		t.Errorf("without workers: %v", err)
	}
}

// TestWorkersAfterServers uses the ports of a recipe first for shared servers
// and then, when those are closed, for a worker that is lent whole.
func TestWorkersAfterServers(t *testing.T) {
	worker := pool.Worker{Name: "gpus", Recipe: recipe(t, 2)}
	s, _ := servers(t, worker)
	shared := acquire(t, s, model("a"))
	ask(t, shared, "a")
	shared.Release()
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	w, log := workers(t, worker)
	a := acquire(t, w, model("a"))
	if a.Worker != "gpus" || a.Places() != 8 || len(a.Served()) != 2 {
		t.Errorf("lent %s with %d places and %+v", a.Worker, a.Places(), a.Served())
	}
	ask(t, a, "a")

	// Those who want the model that is up go first.
	order := make(chan string)
	for _, id := range []string{"b", "a", "a"} {
		waiting := w.Waiting()
		go func() {
			lease, err := w.Acquire(t.Context(), model(id))
			if err != nil {
				t.Error(err)
				return
			}
			order <- id
			lease.Release()
		}()
		for until := time.Now().Add(20 * time.Second); w.Waiting() == waiting; time.Sleep(time.Millisecond) {
			if time.Now().After(until) {
				t.Fatal("a request does not wait")
			}
		}
	}
	a.Release()
	if first, second, third := <-order, <-order, <-order; first+second+third != "aab" {
		t.Errorf("lent in the order %s, %s, %s", first, second, third)
	}
	if n := strings.Count(log.all(), "worker gpus: starting 2 servers of "); n != 2 {
		t.Errorf("%d starts: %s", n, log.all())
	}
}

// foreign is a model that any server may serve.
func foreign(id string) pool.Model {
	m := model(id)
	m.Requires = pool.Requirement{Model: id, ContextTokens: 4096, Foreign: true, Sampling: vllm.Sampling{Model: id, Temperature: 1, TopP: 1, MaxTokens: 9}}
	return m
}
