package generate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"speceval/internal/pool"
	"speceval/internal/vllm"
)

const (
	// manyFailures is how many requests in a row may fail before a unit ends:
	// something is wrong that no further request mends.
	manyFailures = 100
	// shownTasks bounds the tasks that an error names.
	shownTasks = 10
)

// faults are the requests of a unit that failed for good. A task that servers
// refuse is left alone; the others go on. Its methods may be called
// concurrently.
type faults struct {
	mu    sync.Mutex
	tasks map[int]*taskFault
	row   int // failures since the last success
}

// taskFault is what failed of a task.
type taskFault struct {
	first    error
	count    int
	rejected bool
}

// add notes a failed request. fatal is not nil if the unit should end.
func (f *faults) add(task int, err error) (fatal error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	kind, ends := kindOf(err)
	if ends {
		return err
	}
	if f.tasks == nil {
		f.tasks = make(map[int]*taskFault)
	}
	t := f.tasks[task]
	if t == nil {
		t = &taskFault{first: err}
		f.tasks[task] = t
	}
	t.count++
	switch kind {
	case vllm.Rejected:
		t.rejected = true
		return nil // of this task alone
	case vllm.NotContinued:
		return nil // of this rollout alone
	}
	if f.row++; f.row >= manyFailures {
		return fmt.Errorf("%d requests in a row failed, the last one: %w", f.row, err)
	}
	return nil
}

// kindOf tells the kind of a failure, and whether no other request can do
// better: servers want another key or know no such model, or none is left.
func kindOf(err error) (kind vllm.Kind, ends bool) {
	var failure *vllm.Error
	switch {
	case errors.Is(err, pool.ErrDeadly):
		return vllm.EngineDead, false
	case errors.Is(err, vllm.ErrLost):
		return vllm.NotContinued, false
	case !errors.As(err, &failure):
		return 0, true
	}
	return failure.Kind, failure.Kind == vllm.Unauthorized || failure.Kind == vllm.UnknownModel
}

func (f *faults) success() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.row = 0
}

// refused reports whether a request of the task was rejected: the others would
// be too, since only their seeds differ.
func (f *faults) refused(task int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.tasks[task]
	return t != nil && t.rejected
}

func (f *faults) any() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.tasks) > 0
}

// err names the tasks whose rollouts are not complete, and why.
func (f *faults) err(c *corpus) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d tasks have rollouts missing; all others are stored, and running again asks for the missing ones alone", len(f.tasks), len(c.benchmark.Tasks))
	for i, task := range slices.Sorted(maps.Keys(f.tasks)) {
		if i == shownTasks {
			fmt.Fprintf(&b, "\nand %d more", len(f.tasks)-shownTasks)
			break
		}
		t := f.tasks[task]
		if t.rejected {
			fmt.Fprintf(&b, "\n%s is refused: %v", c.benchmark.Tasks[task].ID, t.first)
		} else {
			fmt.Fprintf(&b, "\n%s, %d failed requests, the first: %v", c.benchmark.Tasks[task].ID, t.count, t.first)
		}
	}
	return errors.New(b.String())
}
