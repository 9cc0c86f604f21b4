package code

import (
	"context"
	"slices"
	"sync"

	"speceval/internal/scoring"
)

// room is how many bytes of tests may be in memory, of all tasks together, when
// those of another task are loaded. The tests of one task may be hundreds of
// megabytes: two such tasks are never in memory at a time.
const room = 64 << 20

// source is where the tests of a task come from.
type source struct {
	load func() ([]scoring.Test, error)

	// Of the shelf:
	loaded *tests
	users  int // scorings under way
}

// tests are the tests of a task, in memory.
type tests struct {
	all    []scoring.Test
	inputs []string
	size   int // bytes
}

func newTests(all []scoring.Test) *tests {
	t := &tests{all: all}
	for _, test := range all {
		t.inputs = append(t.inputs, test.Input)
		t.size += len(test.Input) + len(test.Output)
	}
	return t
}

// shelf has the tests that are in memory: those in use, and those used last as
// far as there is room. The zero value is empty.
type shelf struct {
	mu      sync.Mutex
	changed sync.Cond // something has become free, or a context is done
	sources []*source // that are loaded, the one used last at the end
	size    int       // bytes of them
	loading bool
}

// take gives the tests of a source, loaded if they are not. It waits while there is
// no room. They must be given back.
func (s *shelf) take(ctx context.Context, from *source) (*tests, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed.L = &s.mu
	defer context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed.Broadcast()
	})()
	for from.loaded == nil {
		s.tidy()
		switch {
		case !s.loading && s.size <= room:
			if err := s.load(from); err != nil {
				return nil, err
			}
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		default:
			s.changed.Wait()
		}
	}
	from.users++
	s.tidy()
	return from.loaded, nil
}

// load loads tests without the lock, one source at a time.
func (s *shelf) load(from *source) error {
	s.loading = true
	defer func() {
		s.loading = false
		s.changed.Broadcast()
	}()
	all, err := func() ([]scoring.Test, error) {
		s.mu.Unlock()
		defer s.mu.Lock() // whatever comes of it
		return from.load()
	}()
	if err != nil {
		return err
	}
	from.loaded = newTests(all)
	s.size += from.loaded.size
	s.sources = append(s.sources, from)
	return nil
}

// giveBack ends a use.
func (s *shelf) giveBack(from *source) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from.users--
	if at := slices.Index(s.sources, from); at >= 0 {
		s.sources = append(slices.Delete(s.sources, at, at+1), from)
	}
	s.changed.Broadcast()
}

// drop takes tests that are not in use off the shelf.
func (s *shelf) drop(from *source) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := slices.Index(s.sources, from); at >= 0 && from.users == 0 {
		s.remove(at)
		s.changed.Broadcast()
	}
}

// tidy takes off what is not in use, the oldest first, until there is room.
func (s *shelf) tidy() {
	for at := 0; at < len(s.sources) && s.size > room; {
		if s.sources[at].users > 0 {
			at++
			continue
		}
		s.remove(at)
	}
}

func (s *shelf) remove(at int) {
	s.size -= s.sources[at].loaded.size
	s.sources[at].loaded = nil
	s.sources = slices.Delete(s.sources, at, at+1)
}
