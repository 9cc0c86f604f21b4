package fleet_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"speceval/internal/fleet"
	"speceval/internal/fleet/virtual"
	"speceval/internal/policy/seed"
	"speceval/method/controller"
)

// large is a large model on a GPU.
var large = fleet.Timing{
	Base: 14400 * time.Microsecond, Sequence: 357 * time.Microsecond, Context: 79, Late: 40, After: 100,
	Prompt: 610 * time.Microsecond, Graphs: true,
}

func TestStep(t *testing.T) {
	// 14.4 ms + 24 × 0.357 ms (the graph for 17 sequences is of 24) + 1000 × 79 ns + 300 × 40 ns
	want := 14400*time.Microsecond + 24*357*time.Microsecond + 79*time.Microsecond + 12*time.Microsecond
	if got := large.Steps(fleet.Load{Sequences: 17, Context: 1000, Late: 2, Answers: 300}, 1); got != want {
		t.Errorf("a step takes %v, want %v", got, want)
	}
}

func TestGraphSizes(t *testing.T) {
	timing := fleet.Timing{Sequence: 1, Graphs: true}
	for n, want := range map[int]time.Duration{1: 1, 2: 2, 3: 4, 5: 8, 8: 8, 9: 16, 17: 24, 250: 256, 257: 272, 512: 512, 513: 513} {
		if got := timing.Steps(fleet.Load{Sequences: n}, 1); got != want {
			t.Errorf("%d sequences cost as %d, want %d", n, got, want)
		}
	}
}

// servedBy is what two replicas serve of Uniform's requests under a virtual clock.
func servedBy(t *testing.T, s virtual.Settings, requests int, random seed.Stream) []fleet.Served {
	t.Helper()
	s.Replicas, s.Window = 2, 8
	s.Lengths = func(id controller.ID) (prompt, tokens int) {
		own := random.At(uint64(id.Ordinal))
		long := math.Exp(4 + float64(1.2*(own.Float64()+own.Float64()+own.Float64()-1.5)))
		return 20 + int(60*own.Float64()), 1 + int(long)
	}
	e := must(virtual.New(s))
	all := make([]fleet.Served, 2)
	submitted := make([]time.Duration, 0, requests)
	submit := func() {
		if i := len(submitted); i < requests {
			submitted = append(submitted, e.Now())
			e.Submit(i, controller.ID{Ordinal: int32(i)})
		}
	}
	for range e.Slots() {
		submit()
	}
	for range requests {
		event := must(e.Next(context.Background()))
		all[event.Replica] = append(all[event.Replica], fleet.ServedRequest{
			Submitted: submitted[event.Request].Seconds(), Finished: event.Finished.Seconds(), Prompt: event.Prompt, Tokens: event.Generated,
		})
		submit()
	}
	return all
}

// within reports whether two durations differ by at most a share and an amount.
func within(got, want time.Duration, share float64, amount time.Duration) bool {
	return math.Abs(float64(got-want)) <= share*float64(want)+float64(amount)
}

// TestFitFindsWhatServed: the clock of the fit knows steps on average only, so
// that it comes close and not nearer: half a percent of a step of eight.
func TestFitFindsWhatServed(t *testing.T) {
	for _, truth := range []virtual.Settings{
		{Timing: fleet.Small, Latency: 9 * time.Millisecond, Handling: 100 * time.Microsecond},
		{Timing: fleet.Timing{Base: 5 * time.Millisecond, Sequence: 400 * time.Microsecond}, Latency: 40 * time.Millisecond},
		{Timing: fleet.Timing{Base: 100 * time.Microsecond, Sequence: 900 * time.Microsecond, Prompt: 50 * time.Microsecond}, Latency: 5 * time.Millisecond, Handling: time.Millisecond},
	} {
		var all []fleet.Served
		for run := range 4 {
			all = append(all, servedBy(t, truth, 400, seed.Root(uint64(run)).Stream())...)
		}
		got := must(fleet.FitSpeed(all))
		step := truth.Timing.Steps(fleet.Load{Sequences: 8}, 1)
		if fitted := got.Timing.Steps(fleet.Load{Sequences: 8}, 1); !within(fitted, step, 0.005, 0) {
			t.Errorf("%+v: a step of 8 takes %v, fitted %v", truth.Timing, step, fitted)
		}
		if !within(got.Timing.Base, truth.Timing.Base, 0.02, 50*time.Microsecond) || !within(got.Timing.Sequence, truth.Timing.Sequence, 0.03, 0) ||
			!within(got.Timing.Prompt, truth.Timing.Prompt, 0.1, time.Microsecond) || !within(got.Latency, truth.Latency, 0.05, step) {
			t.Errorf("fitted %+v to requests of %+v", got, truth)
		}
		if got.Requests != 1600 || got.Residual > 0.01 {
			t.Errorf("%d requests, residual %v", got.Requests, got.Residual)
		}
	}
}

func TestFaultsOfServedRequests(t *testing.T) {
	alike := fleet.Served{}
	for range 20 {
		alike = append(alike, fleet.ServedRequest{Submitted: 1, Finished: 2, Tokens: 10, Prompt: 3})
	}
	for want, served := range map[string]fleet.Served{
		"0 requests say too little": nil,
		"10 answer tokens from 2":   {{Submitted: 2, Finished: 2, Tokens: 10}},
		"too much alike":            alike,
	} {
		if s, err := fleet.FitSpeed([]fleet.Served{served}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v, %v, want %q", s, err, want)
		}
	}
}
