package code

import "speceval/internal/scoring"

// Tests of a task are kept in memory where they are small, and loaded for every program where they
// are not. They may have hundreds of megabytes: two such tasks are never in memory at a time.
const (
	small = 256 << 10 // bytes
	large = 32 << 20
)

// tests are the tests of the task, for as long as done is not called.
func (s *Scorer) tests() (tests []scoring.Test, done func(), err error) {
	if kept := s.kept.Load(); kept != nil {
		return *kept, func() {}, nil
	}
	s.runner.loading.Lock()
	held := false
	defer func() {
		if !held { // whatever comes of it
			s.runner.loading.Unlock()
		}
	}()
	if tests, err = s.load(); err != nil {
		return nil, nil, err
	}
	size := 0
	for _, test := range tests {
		size += len(test.Input) + len(test.Output)
	}
	if size > large {
		held = true
		return tests, s.runner.loading.Unlock, nil
	}
	if size <= small {
		s.kept.Store(&tests)
	}
	return tests, func() {}, nil
}
