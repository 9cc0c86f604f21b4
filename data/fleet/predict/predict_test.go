package main

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"speceval/internal/fleet"
)

// TestPublishedColumns holds the columns to the published tables, which were
// checked by other code.
func TestPublishedColumns(t *testing.T) {
	calibration, err := read("..")
	if err != nil {
		t.Fatal(err)
	}
	s, err := newStudy(calibration, 2)
	if err != nil {
		t.Fatal(err)
	}
	for b, want := range map[int][]float64{
		8:  {33.727205, 11.154115, 30.479567, 8.446901, 1.998512, 2.232936, 2.887560},
		64: {11.096363, 6.559846, 5.607554, 1.378318, 5.618257, 0.025954, 0.077490},
	} {
		for i, c := range columns {
			if got := c.of(s.published[b]); math.Abs(got-want[i]) > 1e-6 {
				t.Errorf("b = %d, %s: %.6f, want %.6f", b, c.name, got, want[i])
			}
		}
	}
	if n := len(s.looping()); n != 53 {
		t.Errorf("%d profiles of models that do not think", n)
	}
}

// TestLuck: of profiles that loop, suites keep executions with the published FLOPs;
// the others stay what they are.
func TestLuck(t *testing.T) {
	var all []suite
	for r := range 40 {
		one := make(suite, 2)
		for i := range one {
			for k := range strategies {
				x := float64(1 + (r*7+k)%40)
				one[i] = append(one[i], execution{seconds: 10 * x, useful: x})
			}
		}
		all = append(all, one)
	}
	published := suite{
		{{useful: 30}, {useful: 5}, {useful: 20}},
		{{useful: 30}, {useful: 5}, {useful: 20}},
	}
	lucky := withLuck(all, published, []int{1})
	for r, s := range lucky {
		for k := range strategies {
			if s[0][k] != all[r][0][k] {
				t.Errorf("suite %d: a profile without loops has changed", r)
			}
			if off := math.Abs(s[1][k].seconds/10 - published[1][k].useful); off > 3 {
				t.Errorf("suite %d, strategy %d: %.0f FLOPs, published %.0f", r, k, s[1][k].useful, published[1][k].useful)
			}
		}
	}
	if lucky[0][1][0] == lucky[1][1][0] && lucky[1][1][0] == lucky[2][1][0] && lucky[2][1][0] == lucky[3][1][0] {
		t.Error("all suites have the same luck")
	}
}

// TestSuites executes a profile: twice the same from the same calibration, and HBN
// accepts as much as Uniform.
func TestSuites(t *testing.T) {
	calibration, err := read("..")
	if err != nil {
		t.Fatal(err)
	}
	var few fleet.Workload
	few.Models = calibration.Models
	for _, l := range calibration.Lengths {
		if l.Benchmark == "aime24" && l.Model != "qwen3_5_27b" {
			few.Lengths = append(few.Lengths, l)
		}
	}
	s, err := newStudy(&few, 2)
	if err != nil {
		t.Fatal(err)
	}
	var text [2]bytes.Buffer
	for k := range text {
		all, err := s.suites(t.Context(), 8)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range all {
			for i := range one {
				for k, e := range one[i] {
					if e.accepted != 240 || e.seconds <= 0 || k < 2 && (e.extra > 0 || e.wasted > 0) {
						t.Errorf("strategy %d: %+v", k, e)
					}
				}
			}
		}
		if err := report(&text[k], 8, all, withLuck(all, s.published[8], s.looping()), s.published[8]); err != nil {
			t.Fatal(err)
		}
	}
	if text[0].String() != text[1].String() || strings.Count(text[0].String(), "\n") != 1+len(columns) {
		t.Errorf("got\n%s\nand\n%s", &text[0], &text[1])
	}
}

func TestFaults(t *testing.T) {
	for want, args := range map[string][]string{
		"-b 9: the published budgets": {"-b", "9"},
		"-suites 1: a standard":       {"-suites", "1"},
		"read the calibration":        {"-of", "elsewhere"},
	} {
		if err := run(t.Context(), args, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want one with %q", args, err, want)
		}
	}
}
