package sampler

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"speceval/internal/servers/vllm"
	"speceval/internal/store/rollout"
)

// shelf is where whole answers are stored.
type shelf struct {
	mu   sync.Mutex
	has  map[rollout.ID]*rollout.Rollout
	full error
}

func newShelf() *shelf { return &shelf{has: map[rollout.ID]*rollout.Rollout{}} }

func (s *shelf) settings() PartialsSettings {
	return PartialsSettings{Clock: new(still), Has: s.holds, Keep: s.keep, Sync: func() error { return nil }}
}

func (s *shelf) holds(id rollout.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.has[id] != nil
}

func (s *shelf) keep(r *rollout.Rollout) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full == nil {
		s.has[r.ID()] = r
	}
	return s.full
}

// still is a clock that tests move. No sleep on it ends but with its context.
type still struct{ now time.Time }

func (c still) Now() time.Time { return c.now }
func (*still) Sleep(ctx context.Context, _ time.Duration) error {
	<-ctx.Done()
	return ctx.Err()
}

func open(t testing.TB, folder string, s PartialsSettings) (*Partials, int) {
	t.Helper()
	l, damaged, err := OpenPartials(folder, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, damaged
}

// kill ends a log as a kill would: what it has not written is gone.
func (l *Partials) kill() {
	l.journal.Close()
	l.end()
	<-l.over
}

func at(task, n int32) rollout.ID { return rollout.ID{Task: task, Rollout: n} }

func whole(task, n int32) *rollout.Rollout {
	return &rollout.Rollout{TaskIndex: task, Rollout: n, Text: fmt.Sprint("answer ", n)}
}

// word is a piece of one token.
func word(task, id int32) vllm.Piece {
	return vllm.Piece{PromptIDs: []int32{task, 7}, IDs: []int32{id}, Text: fmt.Sprint(" ", id)}
}

func TestPartialAnswersAreThereAgain(t *testing.T) {
	dir, clock := t.TempDir(), new(still)
	s := newShelf().settings()
	s.Clock = clock
	l, _ := open(t, dir, s)
	l.Asked(at(1, 2), true)
	clock.now = clock.now.Add(2 * time.Second)
	l.Saw(at(1, 2), vllm.Piece{PromptIDs: []int32{5, 6}, IDs: []int32{10, 11}, Reasoning: "hm “\n"})
	l.Flush()
	l.Saw(at(1, 2), vllm.Piece{IDs: []int32{12}, Text: "so"})
	l.Saw(at(1, 2), vllm.Piece{IDs: []int32{13}, Text: " it"})
	l.Asked(at(1, 3), true)
	l.Saw(at(1, 3), vllm.Piece{PromptIDs: []int32{5, 6}, IDs: []int32{20}})
	l.Saw(at(1, 3), vllm.Piece{IDs: []int32{21}, Text: "x", Finish: "stop"})
	l.Asked(at(0, 0), true)
	l.Saw(at(0, 0), vllm.Piece{PromptIDs: []int32{8}, IDs: []int32{1}, Text: "y", Finish: "abort"})
	l.Asked(at(0, 1), true) // nothing seen
	l.Saw(at(0, 2), vllm.Piece{IDs: []int32{1}, Text: "no ids of the prompt"})
	want := map[rollout.ID]*Partial{
		at(1, 2): {Prefix: &vllm.Prefix{PromptIDs: []int32{5, 6}, IDs: []int32{10, 11, 12, 13}, Text: "so it", Reasoning: "hm “\n"}, Took: 2 * time.Second},
		at(1, 3): {Prefix: &vllm.Prefix{PromptIDs: []int32{5, 6}, IDs: []int32{20, 21}, Text: "x", Finish: "stop"}},
		at(0, 0): {Prefix: &vllm.Prefix{PromptIDs: []int32{8}, IDs: []int32{1}, Text: "y"}},
		at(0, 1): nil, at(0, 2): nil,
	}
	look := func(l *Partials) {
		t.Helper()
		for id, want := range want {
			if got := l.Find(id); !reflect.DeepEqual(got, want) {
				t.Errorf("%v: %+v, want %+v", id, got, want)
			}
		}
	}
	look(l)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l, damaged := open(t, dir, s)
	if look(l); damaged > 0 {
		t.Errorf("%d lines are damaged", damaged)
	}
	// The time of another request is added, and what is begun anew is nothing.
	clock.now = clock.now.Add(time.Hour)
	l.Asked(at(1, 2), true)
	clock.now = clock.now.Add(time.Second)
	l.Saw(at(1, 2), vllm.Piece{IDs: []int32{14}})
	l.Forget(at(0, 0))
	l.Forget(at(1, 3))
	l.Saw(at(1, 3), vllm.Piece{PromptIDs: []int32{5, 6}, IDs: []int32{30}})
	want[at(1, 2)].Took += time.Second
	want[at(1, 2)].Prefix.IDs = []int32{10, 11, 12, 13, 14}
	want[at(1, 3)].Prefix = &vllm.Prefix{PromptIDs: []int32{5, 6}, IDs: []int32{30}}
	want[at(0, 0)] = nil
	look(l)
	l.Close()
	l, _ = open(t, dir, s)
	look(l)
}

// A kill leaves what had been seen at one tick, of all answers, wherever it meets the
// write.
func TestAKillLeavesOneMoment(t *testing.T) {
	dir, s := t.TempDir(), newShelf()
	l, _ := open(t, dir, s.settings())
	var ends []int64 // of ticks
	for tick := range int32(5) {
		for task := range int32(3) {
			l.Asked(at(task, 0), true)
			l.Saw(at(task, 0), word(task, 100*tick))
			l.Saw(at(task, 0), word(task, 100*tick+1))
		}
		stored := l.Deliver(whole(9, tick))
		if s.holds(at(9, tick)) {
			t.Fatal("an answer is stored before its tick")
		}
		l.Flush()
		if err := <-stored; err != nil || !s.holds(at(9, tick)) {
			t.Fatalf("an answer is not stored at its tick: %v", err)
		}
		ends = append(ends, l.journal.Size())
	}
	l.kill()
	text, err := os.ReadFile(filepath.Join(dir, PartialsName))
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n <= len(text); n += 13 {
		cut, s := t.TempDir(), newShelf()
		if err := os.WriteFile(filepath.Join(cut, PartialsName), text[:n], 0o666); err != nil {
			t.Fatal(err)
		}
		l, damaged := open(t, cut, s.settings())
		ticks := 0
		for _, end := range ends {
			if end <= int64(n) {
				ticks++
			}
		}
		if len(s.has) != ticks || damaged > 0 {
			t.Fatalf("cut at %d: %d answers, want %d", n, len(s.has), ticks)
		}
		for task := range int32(3) {
			tokens := 0
			if p := l.Find(at(task, 0)); p != nil {
				tokens = len(p.Prefix.IDs)
			}
			if tokens != 2*ticks {
				t.Fatalf("cut at %d: %d tokens of task %d, want %d", n, tokens, task, 2*ticks)
			}
		}
		l.kill()
	}
}

// What is damaged between tears an answer, of which the beginning is left.
func TestADamagedLineTearsItsAnswers(t *testing.T) {
	dir, s := t.TempDir(), newShelf()
	l, _ := open(t, dir, s.settings())
	for n := range int32(4) {
		l.Saw(at(0, 0), word(0, n))
		if n != 1 {
			l.Saw(at(1, 0), word(1, n))
		}
		l.Flush()
	}
	l.kill()
	path := filepath.Join(dir, PartialsName)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	lines[1] = strings.Replace(lines[1], `"x"`, `"y"`, 1)
	if err := os.WriteFile(path, []byte(strings.Join(lines, "")), 0o666); err != nil {
		t.Fatal(err)
	}
	l, damaged := open(t, dir, s.settings())
	p, other := l.Find(at(0, 0)), l.Find(at(1, 0))
	if damaged != 1 || !p.Torn || !slices.Equal(p.Prefix.IDs, []int32{0}) || other.Torn || len(other.Prefix.IDs) != 3 {
		t.Fatalf("%d damaged: %+v, %+v", damaged, p, other)
	}
	// It goes on from there, and is whole from then on; unless it is killed before.
	l.compact, l.base = -1, 0 // the journal is too long
	l.Flush()
	l.kill()
	l, _ = open(t, dir, s.settings())
	if p := l.Find(at(0, 0)); !p.Torn || !slices.Equal(p.Prefix.IDs, []int32{0}) {
		t.Fatalf("compacted: %+v", p)
	}
	l.Asked(at(0, 0), true)
	l.Saw(at(0, 0), vllm.Piece{IDs: []int32{50}})
	l.Close()
	l, _ = open(t, dir, s.settings())
	if p := l.Find(at(0, 0)); p.Torn || !slices.Equal(p.Prefix.IDs, []int32{0, 50}) {
		t.Errorf("gone on: %+v", p)
	}
}

// The journal is as large as what it needs to hold.
func TestTheJournalDoesNotGrow(t *testing.T) {
	dir, s := t.TempDir(), newShelf()
	l, _ := open(t, dir, s.settings())
	l.compact = 16 << 10
	for tick := range int32(2000) {
		l.Saw(at(tick%3, 0), word(tick%3, tick)) // grow
		l.Saw(at(3, tick/10), word(3, tick))     // come and go
		if tick%10 == 9 {
			l.Deliver(whole(3, tick/10))
		}
		l.Flush()
	}
	want := map[rollout.ID]*Partial{}
	for id := range l.answers {
		want[id] = l.Find(id)
	}
	if size := l.journal.Size(); size > 150<<10 || len(want) != 3 {
		t.Errorf("%d bytes for %d answers", size, len(want))
	}
	l.Close()
	l, _ = open(t, dir, s.settings())
	for id, want := range want {
		if got := l.Find(id); !reflect.DeepEqual(got, want) {
			t.Errorf("%v: %+v, want %+v", id, got, want)
		}
	}
	if len(s.has) != 200 || len(l.answers) != 3 {
		t.Errorf("%d answers are whole and %d are not", len(s.has), len(l.answers))
	}
}

func TestTicks(t *testing.T) {
	s := newShelf()
	set := s.settings()
	set.Clock = hasty{}
	l, _ := open(t, t.TempDir(), set)
	var all sync.WaitGroup
	for n := range int32(20) {
		all.Go(func() {
			l.Saw(at(0, n), word(0, n))
			if err := <-l.Deliver(whole(0, n)); err != nil || !s.holds(at(0, n)) {
				t.Errorf("%v: %v", at(0, n), err)
			}
		})
	}
	all.Wait()
	s.full = errors.New("the disk is full")
	if err := <-l.Deliver(whole(1, 1)); !errors.Is(err, s.full) {
		t.Errorf("error %v", err)
	}
	s.full = nil
	if err := l.Sync(); err == nil {
		t.Error("the failure is forgotten")
	}
	if err := <-l.Deliver(whole(1, 2)); err == nil || s.holds(at(1, 2)) {
		t.Errorf("stored after a failure: %v", err)
	}
	l.journal.Close()
	if err := l.journal.Append(&entry{}); err == nil || !strings.HasPrefix(err.Error(), "store parts of answers: write "+l.path) {
		t.Errorf("a journal that cannot be written: %v", err)
	}
}

// hasty is a clock whose ticks come at once.
type hasty struct{ still }

func (hasty) Sleep(ctx context.Context, _ time.Duration) error {
	time.Sleep(100 * time.Microsecond)
	return ctx.Err()
}

func TestAnswersThatAreStoredAreNotPartial(t *testing.T) {
	dir, s := t.TempDir(), newShelf()
	l, _ := open(t, dir, s.settings())
	l.Saw(at(0, 0), word(0, 1))
	l.Close()
	s.keep(whole(0, 0)) // by another journal
	if l, _ := open(t, dir, s.settings()); l.Find(at(0, 0)) != nil {
		t.Error("it is partial still")
	}
	l.Close()
	if err := errors.Join(RemovePartials(dir), RemovePartials(dir)); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

// What servers cannot continue, and is asked for again, is counted.
func TestAnswersThatAreNotKeptAreTorn(t *testing.T) {
	dir, s := t.TempDir(), newShelf()
	l, _ := open(t, dir, s.settings())
	l.Asked(at(0, 0), false) // comes to its end
	l.Asked(at(0, 1), false) // is lost
	l.Asked(at(0, 2), false) // is refused
	l.Asked(at(0, 3), true)  // is kept
	l.Saw(at(0, 3), word(0, 1))
	l.Saw(at(0, 4), word(0, 1)) // is forgotten
	l.Deliver(whole(0, 0))
	l.Torn(at(0, 2), false)
	l.Forget(at(0, 4))
	look := func(l *Partials, lost *Partial, again int) {
		t.Helper()
		if got := l.Find(at(0, 1)); !reflect.DeepEqual(got, lost) || l.AskedAgain() != again {
			t.Errorf("%+v and %d asked again, want %+v and %d", got, l.AskedAgain(), lost, again)
		}
		if p := l.Find(at(0, 3)); p.Torn || l.Find(at(0, 0)) != nil || l.Find(at(0, 2)) != nil || l.Find(at(0, 4)) != nil {
			t.Errorf("%+v, %+v, %+v, %+v", l.Find(at(0, 0)), l.Find(at(0, 2)), p, l.Find(at(0, 4)))
		}
	}
	look(l, &Partial{Torn: true}, 1)
	again := func() {
		t.Helper()
		l.Close()
		l, _ = open(t, dir, s.settings())
	}
	again()
	look(l, &Partial{Torn: true}, 1)
	l.Asked(at(0, 1), true)
	again()
	look(l, nil, 2)
	l.Asked(at(0, 1), false)
	l.Asked(at(0, 1), false)
	l.Flush()
	l.compact, l.base = -1, 0
	l.Flush()
	again()
	look(l, &Partial{Torn: true}, 2)
}
