package code

import (
	"context"
	"sync"

	"speceval/internal/scoring"
)

// room is how many bytes of tests are kept in memory. Those of a task may have hundreds of megabytes.
const room = 64 << 20

// shelf has the tests that are in memory: of the last tasks as many as there is room for, or of one
// task that has more. Two tasks with more are never in memory together.
type shelf struct {
	loading sync.Mutex   // of those who change the shelf
	use     sync.RWMutex // held for reading while tests are used
	scorers []*Scorer    // of the tasks, in the order in which they were loaded
	size    int          // of all their tests
}

// tests are the tests of the task, for as long as done is not called.
func (s *Scorer) tests(ctx context.Context) (tests []scoring.Test, done func(), err error) {
	all := &s.runner.shelf
	all.use.RLock()
	if kept := s.kept.Load(); kept != nil {
		return kept.tests, all.use.RUnlock, nil
	}
	all.use.RUnlock()
	all.loading.Lock()
	defer all.loading.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if s.kept.Load() == nil { // no other program of the task came first
		if err := all.add(s); err != nil {
			return nil, nil, err
		}
	}
	all.use.RLock()
	return s.kept.Load().tests, all.use.RUnlock, nil
}

// loaded are tests in memory.
type loaded struct {
	tests []scoring.Test
	size  int // bytes
}

// add loads the tests of a task.
func (all *shelf) add(s *Scorer) error {
	if all.size > room {
		all.use.Lock() // once nothing uses them
		all.drop()
		all.use.Unlock()
	}
	tests, err := s.load()
	if err != nil {
		return err
	}
	kept := loaded{tests: tests}
	for _, test := range tests {
		kept.size += len(test.Input) + len(test.Output)
	}
	for len(all.scorers) > 0 && all.size+kept.size > room {
		all.drop()
	}
	s.kept.Store(&kept)
	all.scorers, all.size = append(all.scorers, s), all.size+kept.size
	return nil
}

// drop takes the oldest tests from the shelf; programs that use them go on.
func (all *shelf) drop() {
	all.size -= all.scorers[0].kept.Swap(nil).size
	all.scorers = all.scorers[1:]
}
