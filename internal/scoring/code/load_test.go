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
				tests, done, err := s.tests(t.Context())
				if err != nil || len(tests) != 1 {
					t.Error(tests, err)
					return
				}
				done()
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
			size += s.kept.Load().size
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

// A task with more tests than there is room for waits until another one's are not used any more.
func TestLargeTestsWaitForOneAnother(t *testing.T) {
	for size, alone := range map[int]bool{room / 2: false, room: false, room + 2: true} {
		r := &Runner{}
		first, _ := counted(r, size)
		second, _ := counted(r, room+2)
		_, done, err := first.tests(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, another, err := first.tests(t.Context()) // programs of one task run together
		if err != nil {
			t.Fatal(err)
		}
		another()
		came := make(chan struct{})
		go func() {
			defer close(came)
			used(t, 1, second)
		}()
		if !alone {
			<-came
			done()
			continue
		}
		select {
		case <-came:
			t.Errorf("two tasks with tests of %d bytes are in memory together", size)
		case <-time.After(20 * time.Millisecond): // it cannot come, however long
		}
		done()
		<-came
	}
}

func TestTestsThatCannotBeLoaded(t *testing.T) {
	r := &Runner{}
	s := New(r, false, func() ([]scoring.Test, error) { return nil, errors.New("no such file") })
	func() {
		defer func() { recover() }()
		New(r, false, func() ([]scoring.Test, error) { panic("odd") }).tests(t.Context())
	}()
	for range 2 {
		if _, _, err := s.tests(t.Context()); err == nil || err.Error() != "no such file" {
			t.Error(err)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, _, err := s.tests(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("after an interrupt: %v", err)
	}
}
