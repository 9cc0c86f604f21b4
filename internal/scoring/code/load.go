package code

import (
	"context"
	"sync"

	"speceval/internal/scoring"
)

// room is how many bytes of tests are kept in memory. Those of a task may have hundreds of megabytes.
const room = 64 << 20

// shelf has the tests that are in memory: of the last tasks as many as there is room for, or of one
// task that has more.
type shelf struct {
	mu      sync.Mutex
	scorers []*Scorer // of the tasks, in the order in which they were loaded
	size    int       // bytes of all their tests
}

// tests are the tests of the task. Programs that use them keep them, whatever the shelf does.
func (s *Scorer) tests(ctx context.Context) ([]scoring.Test, error) {
	all := &s.runner.shelf
	all.mu.Lock()
	defer all.mu.Unlock()
	if s.kept != nil || ctx.Err() != nil {
		return s.kept, ctx.Err()
	}
	tests, err := s.load()
	if err != nil {
		return nil, err
	}
	s.kept = tests
	all.scorers, all.size = append(all.scorers, s), all.size+size(tests)
	for all.size > room && len(all.scorers) > 1 {
		all.size -= size(all.scorers[0].kept)
		all.scorers[0].kept = nil
		all.scorers = all.scorers[1:]
	}
	return tests, nil
}

// size is the size of tests in bytes.
func size(tests []scoring.Test) (n int) {
	for _, test := range tests {
		n += len(test.Input) + len(test.Output)
	}
	return n
}
