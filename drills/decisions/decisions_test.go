package main

import (
	"math"
	"strings"
	"testing"

	"speceval/internal/seed"
)

// TestASmallStudyPasses wants the same output whatever runs at a time.
func TestASmallStudyPasses(t *testing.T) {
	var first string
	for _, at := range []string{"1", "3"} {
		var out, faults strings.Builder
		if code := run([]string{"-small", "-n", "2", "-j", at}, &out, &faults); code != 0 || faults.Len() > 0 {
			t.Fatalf("exit code %d: %s%s", code, &out, &faults)
		}
		tables, _, _ := strings.Cut(out.String(), "it took")
		for _, p := range parts {
			if !strings.Contains(tables, p.name+": ") {
				t.Errorf("no part %s in\n%s", p.name, tables)
			}
		}
		if first == "" {
			first = tables
		}
		if tables != first {
			t.Errorf("%s profiles at a time:\n%s\none at a time:\n%s", at, tables, first)
		}
	}
	for _, wrong := range [][]string{{"-what"}, {"-part", "nothing"}, {"-n", "1"}, {"-j", "0"}} {
		if code := run(wrong, &strings.Builder{}, &strings.Builder{}); code != 2 {
			t.Errorf("exit code %d for %v", code, wrong)
		}
	}
}

// TestShiftsMoveTheMean, as far as probabilities allow.
func TestShiftsMoveTheMean(t *testing.T) {
	for _, by := range []float64{-0.1, 0.03} {
		ps := []float64{0, 0.2, 0.9, 1, 0.5}
		before := mean(ps)
		if shift(ps, by); math.Abs(mean(ps)-before-by) > 1e-6 {
			t.Errorf("by %v: %v to %v", by, before, mean(ps))
		}
	}
	ps := []float64{0, 0.01}
	if shift(ps, -0.5); math.Abs(mean(ps)-0.005) > 1e-6 {
		t.Errorf("as low as can be is %v", mean(ps))
	}
}

// TestWhatIsWrongIsFound: coverage that is too low, biases, and gates that let too many
// pass are faults.
func TestWhatIsWrongIsFound(t *testing.T) {
	s := &study{number: 1000}
	if err := s.covers(summary{coverage: 0.9, error: 0.001}, 0.93, "here"); err == nil || !strings.Contains(err.Error(), "here: the interval covers the truth in 90.0%") {
		t.Errorf("%v", err)
	}
	if err := s.covers(summary{coverage: 0.95, error: 0.001}, 0.93, "here"); err != nil {
		t.Error(err)
	}
	all := []verdicts{{count: 1000, outcomes: [3]int{800, 150, 50}, spent: 8000, se: 20}}
	var out strings.Builder
	if err := s.judged(gated{8, 1, -1}, all, &out); err == nil || !strings.Contains(err.Error(), "15.0% of models") {
		t.Errorf("%v: %s", err, &out)
	}
	if err := s.judged(gated{8, 1, 0}, all, &out); err != nil {
		t.Error(err)
	}
	var c score
	for k := range 400 {
		value := 0.5 + 0.01*float64(k%2)
		c.add(0.5, value, 0.005, value-0.001, value+0.001)
	}
	if m := summarize([]score{c}); m.coverage != 0.5 || math.Abs(m.length-0.002) > 1e-12 || m.bias < 15 {
		t.Errorf("%+v", m)
	}
	random := seed.Root(1).Stream()
	if x := binomial(&random, 1000, 0.3); x < 230 || x > 370 {
		t.Errorf("%d of 1000 pass", x)
	}
}
