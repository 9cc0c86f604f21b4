package code

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"speceval/internal/scoring"
)

// counted is a scorer of a task with tests of a size in bytes, and how often they were loaded.
func counted(r *Runner, size int) (*Scorer, *int) {
	loads := 0
	text := strings.Repeat("x", size)
	return New(r, false, func() ([]scoring.Test, error) {
		loads++
		time.Sleep(time.Millisecond) // the other programs of the task come meanwhile
		return []scoring.Test{{Kind: "stdin", Input: text[:size/2], Output: text[size/2:]}}, nil
	}), &loads
}

// used uses the tests of tasks in turn, each for a number of programs at a time.
func used(t *testing.T, times int, tasks ...*Scorer) {
	t.Helper()
	for _, s := range tasks {
		var programs sync.WaitGroup
		for range times {
			programs.Go(func() {
				tests, err := s.tests(t.Context())
				if err != nil || len(tests) != 1 {
					t.Error(len(tests), err)
				}
			})
		}
		programs.Wait()
	}
}

// The programs of a task come one after another, so that its tests are loaded once, whatever
// their size; and again only after there was no room for them.
func TestTestsAreLoadedOnceForAllPrograms(t *testing.T) {
	r := &Runner{}
	small, smallLoads := counted(r, 1000)
	half, halfLoads := counted(r, room/2)
	large, largeLoads := counted(r, room+2)
	want := func(what string, a, b, c int) {
		t.Helper()
		if *smallLoads != a || *halfLoads != b || *largeLoads != c {
			t.Errorf("%s: loaded %d, %d and %d times, want %d, %d and %d", what, *smallLoads, *halfLoads, *largeLoads, a, b, c)
		}
		size := 0
		for _, s := range r.shelf.scorers {
			size += len(s.kept[0].Input) + len(s.kept[0].Output)
		}
		if size != r.shelf.size || size > room && len(r.shelf.scorers) > 1 {
			t.Errorf("%s: %d tasks of %d bytes on the shelf, which says %d", what, len(r.shelf.scorers), size, r.shelf.size)
		}
	}
	used(t, 20, small, half, small, half)
	want("small and half", 1, 1, 0)
	used(t, 20, large, large)
	want("large", 1, 1, 1)
	used(t, 20, half, small, half)
	want("half again", 2, 2, 1)
}

func TestTestsThatCannotBeLoaded(t *testing.T) {
	r := &Runner{}
	s := New(r, false, func() ([]scoring.Test, error) { return nil, errors.New("no such file") })
	for range 2 {
		if _, err := s.tests(t.Context()); err == nil || err.Error() != "no such file" {
			t.Error(err)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := s.tests(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("after an interrupt: %v", err)
	}
}
