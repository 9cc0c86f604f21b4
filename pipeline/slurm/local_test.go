package slurm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"speceval/pipeline/dag"
)

// run executes n tasks and returns the results by unit.
func run(t *testing.T, e dag.Executor, n int, work func(i int) error) map[string]error {
	t.Helper()
	ready, results := make(chan dag.Task), make(chan dag.Result)
	go func() {
		for i := range n {
			ready <- dag.Task{
				Ref: dag.Ref{Stage: "s", Unit: fmt.Sprint(i)},
				Run: func(context.Context) error { return work(i) },
			}
		}
		close(ready)
	}()
	go func() {
		e.Execute(t.Context(), ready, results)
		close(results)
	}()
	got := make(map[string]error)
	for r := range results {
		got[r.Task.Ref.Unit] = r.Err
	}
	return got
}

func TestLocalReportsEveryTaskOnce(t *testing.T) {
	odd := errors.New("odd")
	for _, workers := range []int{0, 1, 2, 8} {
		got := run(t, Local{workers}, 50, func(i int) error {
			if i%2 == 1 {
				return odd
			}
			return nil
		})
		if len(got) != 50 {
			t.Fatalf("%d workers: %d results, want 50", workers, len(got))
		}
		for i := range 50 {
			if err := got[fmt.Sprint(i)]; (err == odd) != (i%2 == 1) {
				t.Errorf("%d workers: task %d ended with %v", workers, i, err)
			}
		}
	}
}

func TestLocalRunsAsManyAsItHasWorkers(t *testing.T) {
	const workers = 3
	var running, most atomic.Int64
	full := make(chan struct{})
	run(t, Local{workers}, 12, func(int) error {
		now := running.Add(1)
		defer running.Add(-1)
		for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
		}
		if now == workers {
			select {
			case <-full:
			default:
				close(full)
			}
		}
		<-full // nobody ends before all workers were busy at once
		return nil
	})
	if got := most.Load(); got != workers {
		t.Errorf("at most %d units at a time, want %d", got, workers)
	}
}

func TestPack(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var pieces []*piece
		sum, longest := 0.0, 0.0
		for range random.IntN(300) {
			p := &piece{task: dag.Task{Seconds: 20 * random.Float64()}}
			switch random.IntN(10) {
			case 0:
				p.task.Seconds = 0
			case 1:
				p.alone = true
			default:
				sum += p.task.Seconds
				longest = max(longest, p.task.Seconds)
			}
			pieces = append(pieces, p)
		}
		const wanted = 60
		seen := make(map[*piece]bool)
		together := 0
		for _, element := range pack(pieces, wanted) {
			load := 0.0
			for _, p := range element {
				if seen[p] {
					t.Fatal("a unit is packed twice")
				}
				seen[p] = true
				load += p.task.Seconds
				if len(element) > 1 && (p.alone || p.task.Seconds == 0) {
					t.Fatal("a unit that must be alone is not")
				}
			}
			if len(element) == 0 {
				t.Fatal("an element without units")
			}
			if len(element) > 1 {
				together++
			}
			if load > wanted+longest && len(element) > 1 {
				t.Errorf("an element of %v s, want about %d", load, wanted)
			}
		}
		if len(seen) != len(pieces) {
			t.Errorf("%d of %d units are packed", len(seen), len(pieces))
		}
		if float64(together) > sum/wanted+1 {
			t.Errorf("%d elements for %v s", together, sum)
		}
	}
}

func TestPackBoundsAnElement(t *testing.T) {
	var pieces []*piece
	for range 2500 {
		pieces = append(pieces, &piece{task: dag.Task{Seconds: 0.001}})
	}
	elements := pack(pieces, 60)
	if len(elements) != 3 {
		t.Errorf("%d elements, want 3", len(elements))
	}
	for _, element := range elements {
		if len(element) > mostTogether {
			t.Errorf("an element of %d units", len(element))
		}
	}
}

func TestTimeLimits(t *testing.T) {
	long := [][]*piece{{{task: dag.Task{Seconds: 3600}}, {task: dag.Task{Seconds: 600}}}}
	for _, test := range []struct{ configured, workers, longest, want int }{
		{0, 1, 0, 0}, {60, 1, 0, 280}, {60, 2, 0, 240}, {600, 1, 0, 600}, {60, 1, 90, 90},
	} {
		if got := minutesOf(long, test.configured, test.workers, test.longest); got != test.want {
			t.Errorf("configured %d, %d at a time: %d minutes, want %d", test.configured, test.workers, got, test.want)
		}
	}
}

func TestLongerTimeLimits(t *testing.T) {
	for _, test := range []struct{ minutes, longest, want int }{
		{10, 0, 20}, {10, 60, 20}, {40, 60, 60}, {60, 60, 60}, {0, 60, 60}, {0, 0, 0},
	} {
		if got := longer(test.minutes, test.longest); got != test.want {
			t.Errorf("after %d of %d minutes: %d, want %d", test.minutes, test.longest, got, test.want)
		}
	}
}
