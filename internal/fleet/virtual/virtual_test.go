package virtual_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"speceval/internal/fleet"
	"speceval/internal/fleet/virtual"
	"speceval/internal/policy/seed"
	"speceval/internal/servers/flops"
	"speceval/internal/servers/router"
	"speceval/method/controller"
)

// load is a random small case.
type load struct {
	settings virtual.Settings
	requests int
	aborts   float64 // probability that an event has one of the outstanding aborted
	lazy     float64 // that a free place is left empty
}

func randomLoad(random *seed.Stream) load {
	pick := func(n int) int { return int(random.Float64() * float64(n)) }
	lengths := random.Fork()
	longest := []int{3, 30, 400}[pick(3)]
	l := load{requests: 1 + pick(60), aborts: []float64{0, 0.1, 0.5}[pick(3)], lazy: []float64{0, 0.3}[pick(2)]}
	l.settings = virtual.Settings{
		// Small numbers, so that much happens in the same instant.
		Timing: fleet.Timing{
			Base: time.Duration(1 + pick(5)), Sequence: time.Duration(pick(3)), Context: time.Duration(pick(2)),
			Late: time.Duration(pick(2)), After: pick(20), Prompt: time.Duration(pick(2)), Graphs: pick(2) == 0,
		},
		Replicas: 1 + pick(3), Window: 1 + pick(5), MaxSequences: pick(4),
		Handling: time.Duration([]int{0, 1, 40}[pick(3)]), Computation: time.Duration(pick(100)),
		Latency: time.Duration([]int{0, 3, 90}[pick(3)]),
		Lengths: func(id controller.ID) (int, int) {
			own := lengths
			for range id.Ordinal % 50 {
				own.Uint64()
			}
			return int(own.Float64() * 5), 1 + int(own.Float64()*float64(longest))
		},
	}
	return l
}

// execute drives an engine by random decisions that follow from the events
// alone, checks what must always hold, and writes down what happened.
func execute(t *testing.T, e router.Engine, l load, random seed.Stream) []string {
	t.Helper()
	var log []string
	out := map[int]bool{}
	aborted := map[int]bool{}
	submitted, computing := 0, false
	last := time.Duration(0)
	for {
		for len(out) < e.Slots() && submitted < l.requests && (len(out) == 0 || random.Float64() >= l.lazy) {
			e.Submit(submitted, controller.ID{Ordinal: int32(submitted)})
			out[submitted] = true
			submitted++
		}
		if !computing && random.Float64() < 0.1 {
			e.Compute(nil)
			computing = true
		}
		if len(out) == 0 && !computing {
			return log
		}
		event := must(e.Next(context.Background()))
		log = append(log, fmt.Sprintf("%+v at %d", event, e.Now()))
		if e.Now() < last || event.Finished > e.Now() {
			t.Fatalf("the clock shows %d after %d, and event %+v", e.Now(), last, event)
		}
		last = e.Now()
		if event.Kind == router.Computed {
			computing = false
			continue
		}
		if !out[event.Request] || event.Kind == router.Aborted && !aborted[event.Request] {
			t.Fatalf("event %+v of no outstanding request, or of none to be aborted", event)
		}
		delete(out, event.Request)
		if random.Float64() < l.aborts {
			for victim := range submitted { // the first, so that the choice repeats
				if out[victim] && random.Float64() < 0.3 {
					e.Abort(victim)
					aborted[victim] = true
				}
			}
		}
	}
}

func TestAsStepByStep(t *testing.T) {
	for trial := range 400 {
		random := seed.Root(uint64(trial)).Stream()
		l := randomLoad(&random)
		decisions := random.Fork()
		e := must(virtual.New(l.settings))
		got, want := execute(t, e, l, decisions), execute(t, newStepwise(l.settings), l, decisions)
		for i := range want {
			if i >= len(got) || got[i] != want[i] {
				t.Fatalf("trial %d, %+v: event %d is\n%s\nstep by step it is\n%s", trial, l, i, got[min(i, len(got)-1)], want[i])
			}
		}
		if len(got) != len(want) {
			t.Fatalf("trial %d: %d events, step by step %d", trial, len(got), len(want))
		}
	}
}

func TestFaults(t *testing.T) {
	if _, err := virtual.New(virtual.Settings{Replicas: 1, Window: 1}); err == nil || !strings.Contains(err.Error(), "needs replicas, a window and lengths") {
		t.Errorf("without lengths: %v", err)
	}
	e := must(virtual.New(virtual.Settings{Replicas: 1, Window: 1, Timing: fleet.Timing{Base: 1}, Lengths: func(controller.ID) (int, int) { return 1, 1 }}))
	if _, err := e.Next(context.Background()); err == nil || !strings.Contains(err.Error(), "nothing is outstanding") {
		t.Errorf("with nothing to wait for: %v", err)
	}
	e.Submit(0, controller.ID{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := e.Next(ctx); err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
}

// TestUniformAtManyBudgetsIsThatOfTheRouter executes Uniform at some budgets at once,
// and each of them again by the router.
func TestUniformAtManyBudgetsIsThatOfTheRouter(t *testing.T) {
	for trial := range 300 {
		random := seed.Root(uint64(trial)).Child("uniform").Stream()
		l := randomLoad(&random)
		tasks, budgets := 1+int(random.Float64()*7), []int{1 + int(random.Float64()*3), 4 + int(random.Float64()*9), 3}
		slices.Sort(budgets)
		runs := must(virtual.Uniform(t.Context(), l.settings, tasks, budgets))
		for k, b := range budgets {
			e := must(virtual.New(l.settings))
			c := must(controller.New(controller.Settings{Policy: controller.Uniform, Tasks: tasks, Budget: b, Pilots: b}))
			record := must(router.Run(t.Context(), router.Settings{Controller: c, Engine: e, Reward: func(controller.ID) float64 { return 0 }}))
			tokens, wasted := record.Tokens()
			if runs[k] != (virtual.UniformRun{Time: record.Time, Tokens: tokens}) || wasted != (flops.Tokens{}) {
				t.Fatalf("trial %d, %+v: %d tasks at %d of %d: %+v, by the router %v and %+v", trial, l, tasks, b, budgets, runs[k], record.Time, tokens)
			}
		}
	}
}

// must is a result whose error ends the tests.
func must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}
