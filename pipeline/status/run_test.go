package status

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
)

func TestLongUnitsGetALineEveryFiveSeconds(t *testing.T) {
	plan := manyUnits(t, 2)
	unit := plan.Stages[0].Run[0].Ref
	var w strings.Builder
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	clock := start
	l := &lines{w: &w, now: func() time.Time { return clock }}
	l.Begin(plan)
	for second := range 11 { // 100 a second, of which 1000 had been stored
		clock = start.Add(time.Duration(second) * time.Second)
		l.Advanced(unit, dag.Progress{Done: 1000 + 100*second, Total: 20480, Stored: 1000, What: "rollouts", Detail: "1.2 M tokens"})
	}
	l.End()
	const want = `2026-11-21T12:00:05Z replay/0 1,500/20,480 rollouts, 100/s, 1.2 M tokens, about 3 min 10 s left
2026-11-21T12:00:10Z replay/0 2,000/20,480 rollouts, 100/s, 1.2 M tokens, about 3 min 5 s left
2026-11-21T12:00:10Z replay/0: 2,000 of 20,480 rollouts are stored, and the next run goes on from there
`
	if w.String() != want {
		t.Errorf("got\n%s\nwant\n%s", w.String(), want)
	}
}

func TestTheBarShowsPartsOfUnits(t *testing.T) {
	plan := manyUnits(t, 2)
	var w strings.Builder
	clock := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	b := &bar{w: &w, bars: &w, now: func() time.Time { return clock }}
	b.Begin(plan)
	first, second := plan.Stages[0].Run[0].Ref, plan.Stages[0].Run[1].Ref
	at := func(want int64) {
		t.Helper()
		if got := b.bar.State().CurrentNum; got != want {
			t.Errorf("the bar is at %d of 2000, want %d", got, want)
		}
	}
	b.Advanced(first, dag.Progress{Done: 5, Total: 10, What: "rollouts"})
	at(500)
	clock = clock.Add(2 * time.Second)
	b.Advanced(second, dag.Progress{Done: 1, Total: 10, What: "rollouts"})
	at(600)
	b.Advanced(first, dag.Progress{Done: 5, Total: 10, What: "rollouts"})
	at(600)
	clock = clock.Add(2 * time.Second)
	b.Advanced(first, dag.Progress{Done: 9, Total: 10, What: "rollouts"})
	at(1000)
	b.Finished(dag.Outcome{Unit: first, Manifest: &dag.Manifest{}})
	at(1100)
	b.Finished(dag.Outcome{Unit: second, Manifest: &dag.Manifest{}})
	at(2000)
	b.End()
	if got, want := b.bar.State().Description, "replay 10/20 rollouts, 1.0/s"; got != want {
		t.Errorf("the bar said %q at last, want %q", got, want)
	}
}

func TestAClockThatGoesBackSilencesNothing(t *testing.T) {
	plan := manyUnits(t, 100)
	unit := plan.Stages[0].Run[0].Ref
	var w strings.Builder
	clock := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	l := &lines{w: &w, now: func() time.Time { return clock }}
	l.Begin(plan)
	l.Advanced(unit, dag.Progress{Done: 10, Total: 100, What: "rollouts"})
	clock = clock.Add(-time.Hour)
	l.Advanced(unit, dag.Progress{Done: 20, Total: 100, What: "rollouts"})
	l.Finished(dag.Outcome{Unit: unit, Manifest: &dag.Manifest{}})
	l.End()
	const want = `2026-11-21T11:00:00Z replay/0 20/100 rollouts
2026-11-21T11:00:00Z replay 1/100, 0 in 0.0 s, time left unknown
`
	if w.String() != want {
		t.Errorf("got\n%s\nwant\n%s", w.String(), want)
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
	for _, want := range []string{"replay 1/2, 0 in 3 min 20 s, about ", "replay 2/2, 1 in 3 min 20 s on n1 as job 12_3 after 40 s in the queue, about "} {
		if !strings.Contains(w.String(), want) {
			t.Errorf("the lines lack %q:\n%s", want, w.String())
		}
	}
}
