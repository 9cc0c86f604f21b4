package executor

import (
	"context"
	"errors"
	"fmt"
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
