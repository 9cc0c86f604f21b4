package code

import (
	"errors"
	"strings"
	"testing"

	"speceval/internal/scoring"
)

// counted is a scorer of a task with tests of a size in bytes, and how often they were loaded.
func counted(r *Runner, size int) (*Scorer, *int) {
	loads := 0
	text := strings.Repeat("x", size)
	return New(r, false, func() ([]scoring.Test, error) {
		loads++
		return []scoring.Test{{Kind: "stdin", Input: text[:size/2], Output: text[size/2:]}}, nil
	}), &loads
}

func TestSmallTestsAreLoadedOnce(t *testing.T) {
	r := &Runner{}
	for size, want := range map[int]int{10: 1, small: 1, small + 2: 3, large: 3} {
		s, loads := counted(r, size)
		for range 3 {
			tests, done, err := s.tests()
			if err != nil || len(tests) != 1 {
				t.Fatal(tests, err)
			}
			done()
		}
		if *loads != want {
			t.Errorf("%d bytes were loaded %d times, want %d", size, *loads, want)
		}
	}
}

func TestLargeTestsWaitForOneAnother(t *testing.T) {
	r := &Runner{}
	for size, alone := range map[int]bool{large: false, large + 2: true} {
		s, _ := counted(r, size)
		_, done, err := s.tests()
		if free := r.loading.TryLock(); err != nil || free == alone {
			t.Errorf("%d bytes are in use, and others may be loaded: %t, %v", size, free, err)
		} else if free {
			r.loading.Unlock()
		}
		done()
		if !r.loading.TryLock() {
			t.Fatal("nothing else is loaded afterwards")
		}
		r.loading.Unlock()
	}
}

func TestTestsThatCannotBeLoaded(t *testing.T) {
	r := &Runner{}
	s := New(r, false, func() ([]scoring.Test, error) { return nil, errors.New("no such file") })
	func() {
		defer func() { recover() }()
		New(r, false, func() ([]scoring.Test, error) { panic("odd") }).tests()
	}()
	for range 2 {
		if _, _, err := s.tests(); err == nil || err.Error() != "no such file" {
			t.Error(err)
		}
	}
}
