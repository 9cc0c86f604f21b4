package router_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"speceval/internal/servers/router"
	"speceval/method/controller"
)

// script is an engine whose events a test gives one by one.
type script struct {
	slots     int
	events    []router.Event
	submitted []controller.ID
	heard     []int // how many had been submitted before each event
	computed  []func()
	now       time.Duration
}

func (s *script) Slots() int                     { return s.slots }
func (s *script) Submit(_ int, id controller.ID) { s.submitted = append(s.submitted, id) }
func (s *script) Abort(int)                      {}
func (s *script) Compute(f func())               { s.computed = append(s.computed, f) }
func (s *script) Now() time.Duration             { return s.now }
func (s *script) Next(context.Context) (router.Event, error) {
	s.heard = append(s.heard, len(s.submitted))
	if len(s.events) == 0 {
		return router.Event{}, errEnd
	}
	e := s.events[0]
	s.events = s.events[1:]
	if e.Finished > 0 {
		s.now = e.Finished + handling
	}
	return e, nil
}

// handling is how long after its end the router is told of a request.
const handling = 2 * time.Millisecond

var errEnd = errors.New("the script ends")

// play runs the beginning of HBN-async on two tasks, m = 2 and b = 20. Task 0
// always passes, task 1 every other time.
func (s *script) play(t *testing.T, settings router.Settings, late bool) (*router.Record, error) {
	t.Helper()
	ctl := must(controller.New(controller.Settings{Policy: controller.Async, Tasks: 2, Budget: 20, Pilots: 2, Prior: controller.Cold(prior), Late: late}))
	settings.Controller, settings.Engine = ctl, s
	settings.Reward = router.PassFail(func(id controller.ID) bool { return id.Task == 0 || id.Ordinal == 1 })
	return router.Run(t.Context(), settings)
}

func TestAFailureTooManyEndsTheRun(t *testing.T) {
	cause := errors.New("broken")
	for retries := range 3 {
		s := &script{slots: 1}
		for i := range 3 {
			s.events = append(s.events, router.Event{Kind: router.Failed, Request: i, Err: cause})
		}
		record, err := s.play(t, router.Settings{Retries: retries}, false)
		if first := (controller.ID{Task: 0, Phase: controller.Pilot, Ordinal: 1}); !errors.Is(err, cause) || !strings.HasPrefix(err.Error(), first.String()+" failed") {
			t.Errorf("with %d retries: %v, want the failure of the first pilot", retries, err)
		}
		if len(s.submitted) != retries+1 || record.Retries != retries {
			t.Errorf("with %d retries it was submitted %d times, %d of them again", retries, len(s.submitted), record.Retries)
		}
	}
}

// TestFreePlacesAreFilledAtOnce gives ten places to four pilots: six are left for
// speculation, before anything has completed, or after the first completion.
func TestFreePlacesAreFilledAtOnce(t *testing.T) {
	for _, test := range []struct {
		late        bool
		first, then int
	}{{false, 10, 11}, {true, 4, 11}} {
		s := &script{slots: 10, events: []router.Event{{Kind: router.Completed, Request: 0}}}
		if _, err := s.play(t, router.Settings{}, test.late); !errors.Is(err, errEnd) {
			t.Fatal(err)
		}
		if s.heard[0] != test.first || s.heard[1] != test.then {
			t.Errorf("late %v: %d submitted at first and %d after a completion, want %d and %d", test.late, s.heard[0], s.heard[1], test.first, test.then)
		}
	}
}

// TestGapsAreOfPlacesThatWorkWaitsFor has three places, which are always taken,
// and ten, six of which stay free until the first completion.
func TestGapsAreOfPlacesThatWorkWaitsFor(t *testing.T) {
	for _, test := range []struct {
		slots int
		late  bool
		want  []time.Duration
	}{{3, false, []time.Duration{handling, handling}}, {10, true, []time.Duration{handling}}} {
		s := &script{slots: test.slots, events: []router.Event{
			{Kind: router.Completed, Request: 0, Finished: 10 * time.Millisecond},
			{Kind: router.Computed},
			{Kind: router.Completed, Request: 2, Finished: 20 * time.Millisecond},
		}}
		record, err := s.play(t, router.Settings{}, test.late)
		if gaps := record.Gaps(); !errors.Is(err, errEnd) || !slices.Equal(gaps, test.want) {
			t.Errorf("%d places: gaps %v, want %v (%v)", test.slots, gaps, test.want, err)
		}
	}
}

// TestProvisionalAllocationsComeIntoForce completes two pilots, so that the
// first one's allocation is overtaken while it is worked out.
func TestProvisionalAllocationsComeIntoForce(t *testing.T) {
	for _, sparse := range []bool{false, true} {
		s := &script{slots: 4, events: []router.Event{
			{Kind: router.Completed, Request: 0}, {Kind: router.Completed, Request: 1},
			{Kind: router.Computed}, {Kind: router.Computed},
		}}
		record, err := s.play(t, router.Settings{Sparse: sparse}, false)
		if !errors.Is(err, errEnd) {
			t.Fatal(err)
		}
		want := 2
		if sparse {
			want = 1 // the first is overtaken
		}
		if len(s.computed) != 2 || record.Updates != want {
			t.Errorf("sparse %v: %d computations, %d in force, want 2 and %d", sparse, len(s.computed), record.Updates, want)
		}
	}
}

// TestNewAllocationsFillFreePlaces exhausts the prior's queue, 36
// continuations, with fifty places. Three pilots then shift the allocation to
// one of the tasks.
func TestNewAllocationsFillFreePlaces(t *testing.T) {
	for _, sparse := range []bool{false, true} {
		s := &script{slots: 50, events: []router.Event{
			{Kind: router.Completed, Request: 0}, {Kind: router.Completed, Request: 2}, {Kind: router.Completed, Request: 3},
			{Kind: router.Computed}, {Kind: router.Computed},
		}}
		if _, err := s.play(t, router.Settings{Sparse: sparse}, false); !errors.Is(err, errEnd) {
			t.Fatal(err)
		}
		before, after := s.heard[3], s.heard[5]
		if before != 40 || (after > before) == sparse {
			t.Errorf("sparse %v: %d submitted before the new allocations and %d after", sparse, before, after)
		}
	}
}

// TestRewardsThatComeLater has two places. The first answer frees its own before
// its reward is there.
func TestRewardsThatComeLater(t *testing.T) {
	s := &script{slots: 2, events: []router.Event{
		{Kind: router.Answered, Request: 0, Finished: 10 * time.Millisecond, Generated: 7},
		{Kind: router.Answered, Request: 1, Finished: 20 * time.Millisecond},
		{Kind: router.Completed, Request: 0, Finished: 30 * time.Millisecond},
	}}
	record, err := s.play(t, router.Settings{}, false)
	if !errors.Is(err, errEnd) {
		t.Fatal(err)
	}
	if want := []int{2, 3, 4, 4}; !slices.Equal(s.heard, want) {
		t.Errorf("submitted before each event: %v, want %v", s.heard, want)
	}
	first, second := record.Requests[0], record.Requests[1]
	if first.State != router.Accepted || !first.Passed() || first.Finished != 10*time.Millisecond || first.RewardReady != 30*time.Millisecond+handling || first.Generated != 7 {
		t.Errorf("the first is %+v", first)
	}
	if second.State != router.Scoring || second.RewardReady >= 0 {
		t.Errorf("the second is %+v", second)
	}
	if gaps := record.Gaps(); !slices.Equal(gaps, []time.Duration{handling, handling}) {
		t.Errorf("gaps %v", gaps)
	}
}

func TestEventsOutOfOrder(t *testing.T) {
	cause := errors.New("no judge")
	answered := router.Event{Kind: router.Answered}
	for want, second := range map[string]router.Event{
		"no judge":                    {Kind: router.Failed, Err: cause},
		"request 0, which is not out": {Kind: router.Answered},
		"of request 0, which":         {Kind: router.Aborted},
	} {
		s := &script{slots: 1, events: []router.Event{answered, second}}
		if _, err := s.play(t, router.Settings{Retries: 5}, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", second, err, want)
		}
	}
}
