package main

import (
	"context"
	"strings"
	"testing"
)

func TestFewUnitsGetADatedLineEach(t *testing.T) {
	b := newBench(t)
	_, stderr := b.ok("run")
	want(t, "stderr", stderr,
		"2026-11-21T12:00:", "Z replay 1/3, a in 1.0 s, about ", " left\n", "Z replay 3/3, c in 1.0 s", "Z report 1/1, table in 1.0 s, about 0.0 s left\n")
}

func TestFailuresGetALineAndAreListedLast(t *testing.T) {
	b := newBench(t)
	b.hook = func(_ context.Context, unit string) error {
		if unit == "replay/b" {
			return errBroken
		}
		return nil
	}
	_, _, stderr := b.do("run")
	want(t, "stderr", stderr, "Z replay/b failed\n")
	if !strings.HasSuffix(stderr, "speceval: 1 unit failed, 2 not run\n  replay/b: broken\n") {
		t.Errorf("the failures do not come last:\n%s", stderr)
	}
}

func TestBarOnATerminal(t *testing.T) {
	b := newBench(t)
	b.terminal = true
	b.hook = func(_ context.Context, unit string) error {
		if unit == "report/table" {
			return errBroken
		}
		return nil
	}
	_, _, stderr := b.do("run")
	want(t, "stderr", stderr, "\r", "replay", "report/table failed\n", "1 unit failed")
	if strings.Contains(stderr, "\x1b[3") {
		t.Errorf("the bar has colours: %q", stderr)
	}
}
