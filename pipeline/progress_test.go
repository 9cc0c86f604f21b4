package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
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

// manyUnits is a plan of n units of one stage.
func manyUnits(t *testing.T, n int) *dag.Plan {
	t.Helper()
	stage := dag.Stage{Name: "replay"}
	for i := range n {
		stage.Units = append(stage.Units, dag.Unit{
			ID: fmt.Sprint(i), Outputs: []string{fmt.Sprint("f", i)},
			Run: func(context.Context, *dag.Job) error { return nil },
		})
	}
	return dagtest.Plan(t, []dag.Stage{stage}, t.TempDir(), dag.Selection{})
}

func TestManyUnitsGetALineEveryFiveSeconds(t *testing.T) {
	plan := manyUnits(t, 100)
	var w strings.Builder
	clock := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	l := &lines{w: &w, now: func() time.Time { return clock }}
	l.Begin(plan)
	for _, u := range plan.Stages[0].Run {
		clock = clock.Add(time.Second)
		l.Finished(dag.Outcome{Unit: u.Ref, Manifest: &dag.Manifest{WallSeconds: 1}})
	}
	l.End()
	got := strings.Split(strings.TrimSpace(w.String()), "\n")
	if len(got) != 20 || !strings.Contains(got[0], "replay 5/100, 4 in 1.0 s, about 1 min 35 s left") || !strings.Contains(got[19], "replay 100/100") {
		t.Errorf("%d lines:\n%s", len(got), w.String())
	}
}

func TestLinesSayWhereAUnitRan(t *testing.T) {
	plan := manyUnits(t, 2)
	var w strings.Builder
	l := &lines{w: &w, now: func() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }}
	l.Begin(plan)
	for i, queue := range []*dag.Queue{nil, {Job: "12_3", QueueSeconds: 40, Attempt: 1}} {
		m := &dag.Manifest{WallSeconds: 200, Origin: dag.Origin{Host: "n1", Queue: queue}}
		l.Finished(dag.Outcome{Unit: plan.Stages[0].Run[i].Ref, Manifest: m})
	}
	want(t, "lines", w.String(), "replay 1/2, 0 in 3 min 20 s, about ", "replay 2/2, 1 in 3 min 20 s on n1 as job 12_3 after 40 s in the queue, about ")
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
