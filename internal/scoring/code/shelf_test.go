package code

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"speceval/internal/scoring"
)

// counted is a source of tests of so many bytes, which counts how often they are
// loaded. Loading takes a second.
func counted(size int) (*source, *atomic.Int32) {
	var loads atomic.Int32
	text := strings.Repeat("x", size)
	return &source{load: func() ([]scoring.Test, error) {
		loads.Add(1)
		time.Sleep(time.Second)
		return []scoring.Test{{Kind: "stdin", Input: text[:size/2], Output: text[size/2:]}}, nil
	}}, &loads
}

func (s *shelf) mustTake(t *testing.T, from *source) {
	t.Helper()
	if got, err := s.take(t.Context(), from); err != nil || got.size == 0 || len(got.inputs) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestTestsAreLoadedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s shelf
		from, loads := counted(10)
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				s.mustTake(t, from)
				defer s.giveBack(from)
				s.drop(from) // which is in use
			})
		}
		all.Wait()
		s.mustTake(t, from)
		s.giveBack(from)
		if loads.Load() != 1 {
			t.Errorf("loaded %d times", loads.Load())
		}
		s.drop(from)
		if s.size != 0 || from.loaded != nil {
			t.Errorf("%d bytes are left", s.size)
		}
		s.mustTake(t, from)
		if loads.Load() != 2 {
			t.Errorf("loaded %d times after they were dropped", loads.Load())
		}
	})
}

func TestSmallTestsStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s shelf
		for range 2 {
			for _, size := range []int{room / 2, room / 4, room / 4} {
				from, loads := counted(size)
				for range 3 {
					s.mustTake(t, from)
					s.giveBack(from)
				}
				if loads.Load() != 1 {
					t.Errorf("loaded %d times", loads.Load())
				}
				if s.size > room {
					t.Errorf("%d bytes, though none are in use", s.size)
				}
			}
		}
		if len(s.sources) != 3 { // of the six, the last ones
			t.Errorf("%d tasks are in memory", len(s.sources))
		}
	})
}

func TestLargeTestsWaitForOneAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s shelf
		large, _ := counted(room + 2)
		next, loads := counted(room + 2)
		s.mustTake(t, large)
		s.mustTake(t, large)
		took := make(chan bool)
		go func() {
			s.mustTake(t, next)
			close(took)
		}()
		s.giveBack(large)
		time.Sleep(time.Hour)
		if loads.Load() != 0 {
			t.Fatal("loaded while the others are in use")
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("enough"))
		defer cancel()
		if _, err := s.take(ctx, &source{}); err == nil || err.Error() != "enough" {
			t.Errorf("waiting ends with %v", err)
		}
		s.giveBack(large)
		<-took
		if large.loaded != nil || s.size != room+2 {
			t.Errorf("%d bytes in memory: the first tests were kept", s.size)
		}
	})
}

func TestTestsThatCannotBeLoaded(t *testing.T) {
	var s shelf
	from, _ := counted(10)
	load := from.load
	from.load = func() ([]scoring.Test, error) { return nil, errors.New("no such file") }
	if _, err := s.take(t.Context(), from); err == nil || err.Error() != "no such file" {
		t.Errorf("%v", err)
	}
	from.load = func() ([]scoring.Test, error) { panic("odd") }
	func() {
		defer func() { recover() }()
		s.take(t.Context(), from)
	}()
	from.load = load
	s.mustTake(t, from) // the shelf is as good as before
}

// At any time no more is in memory than room and the tests loaded last.
func TestBusyShelf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s shelf
		var sources []*source
		for _, size := range []int{2 * room, room / 3, room / 3, room, 10, room + 2} {
			from, _ := counted(size)
			load := from.load
			from.load = func() ([]scoring.Test, error) {
				s.mu.Lock()
				if s.size > room {
					t.Errorf("%d bytes in memory, and others are loaded", s.size)
				}
				s.mu.Unlock()
				return load()
			}
			sources = append(sources, from)
		}
		var all sync.WaitGroup
		for worker := range 8 {
			random := rand.New(rand.NewPCG(1, uint64(worker)))
			all.Go(func() {
				for range 50 {
					from := sources[random.IntN(len(sources))]
					s.mustTake(t, from)
					time.Sleep(time.Duration(random.IntN(3000)) * time.Millisecond)
					s.giveBack(from)
					if random.IntN(4) == 0 {
						s.drop(from)
					}
				}
			})
		}
		all.Wait()
		for _, from := range sources {
			s.drop(from)
		}
		if s.size != 0 || len(s.sources) != 0 {
			t.Errorf("%d bytes of %d tasks are left", s.size, len(s.sources))
		}
	})
}
