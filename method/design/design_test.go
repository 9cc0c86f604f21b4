package design_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"speceval/method/design"
)

// TestBadSettings names what is wrong, and never panics.
func TestBadSettings(t *testing.T) {
	for _, test := range []struct {
		settings design.Settings
		want     string
	}{
		{design.Settings{Tasks: 1, Budget: 8}, "1 tasks: want 2 to 65535"},
		{design.Settings{Tasks: -5, Budget: 8}, "-5 tasks"},
		{design.Settings{Tasks: 65_536, Budget: 8}, "65536 tasks"},
		{design.Settings{Tasks: 2, Budget: 1}, "1 rollouts a task: want 2"},
		{design.Settings{Tasks: 2}, "0 rollouts a task"},
		{design.Settings{Tasks: 2, Budget: 4097}, "4097 rollouts a task"},
		{design.Settings{Tasks: 2, Budget: 2, Panels: -1}, "-1 panels"},
		{design.Settings{Tasks: 2, Budget: 2, Replicates: -1}, "-1 replicates"},
		{design.Settings{Tasks: 2, Budget: 2, QuadratureOrder: -1}, "order -1"},
		{design.Settings{Tasks: 2, Budget: 2, QuadratureOrder: 1000}, "order 1000"},
		{design.Settings{Tasks: 2, Budget: 2, Workers: -1}, "-1 workers"},
	} {
		if d, err := design.Compute(t.Context(), test.settings); err == nil || !strings.Contains(err.Error(), test.want) || d != (design.Design{}) {
			t.Errorf("%+v: %+v, %v, want an error with %q", test.settings, d, err, test.want)
		}
	}
}

// TestWorkersChangeNothing computes the same bits with any number of workers.
func TestWorkersChangeNothing(t *testing.T) {
	s := design.Settings{Tasks: 7, Budget: 9, Panels: 100, Replicates: 3, Seed: 5, Workers: 1}
	want, err := design.Compute(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, workers := range []int{0, 2, 8, 100} {
		s.Workers = workers
		if got, err := design.Compute(t.Context(), s); err != nil || got != want {
			t.Errorf("%d workers: %+v, %v, want %+v", workers, got, err, want)
		}
	}
	s.Seed++
	if got, _ := design.Compute(t.Context(), s); got.Risk == want.Risk {
		t.Error("another seed draws the same panels")
	}
}

func TestComputeEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := design.Compute(ctx, design.Settings{Tasks: 65_535, Budget: 4096}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

func TestStandardError(t *testing.T) {
	d := design.Design{Tasks: 50, Budget: 8, Risk: 0.81}
	if got, want := d.StandardError(0.16), 0.9*0.4/20; math.Abs(got-want) > 1e-16 {
		t.Errorf("standard error %v, want %v", got, want)
	}
}

// TestLargeBudgetsTakeSteps considers every pilot size up to 64, and beyond it up
// to 4·b^⅔ in steps of at most a thirty-second.
func TestLargeBudgetsTakeSteps(t *testing.T) {
	curve, err := design.Curve(t.Context(), design.Settings{Tasks: 5, Budget: 300, Panels: 2, Replicates: 1})
	if err != nil {
		t.Fatal(err)
	}
	last := 0
	for _, d := range curve {
		if d.Pilots <= last || d.Pilots > last+1 && (last < 64 || d.Pilots-last > last/32) {
			t.Errorf("pilot size %d comes after %d", d.Pilots, last)
		}
		last = d.Pilots
		if !math.IsNaN(d.RiskSE) {
			t.Errorf("one replicate has the error %v", d.RiskSE)
		}
	}
	if bound := 4 * math.Pow(300, 2.0/3); float64(last) > bound || float64(last) < bound*31/32 {
		t.Errorf("the sizes end at %d, want nearly %v", last, bound)
	}
}
