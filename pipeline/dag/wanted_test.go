package dag

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// wanting is an experiment in which report/all needs replay/x and wants
// systems/runs, whose text it adds to its own if it is there.
func wanting(t *testing.T) *lab {
	l := newLab(t)
	l.add("replay", "x", nil)
	l.add("systems", "runs", nil)
	l.add("report", "all", nil, "replay/x")
	l.unit("report/all").Wants = []Ref{{"systems", "runs"}}
	return l
}

func TestAWantedInputMayBeAbsent(t *testing.T) {
	l := wanting(t)
	l.run(Selection{Stages: []string{"replay"}})
	var got error
	l.hook = hooks{"report/all": func(_ context.Context, job *Job) error {
		_, got = job.Input("systems/runs.txt")
		return nil
	}}
	plan := l.plan(Selection{Stages: []string{"report"}})
	same(t, "warnings", plan.Warnings, []string{"systems has not run (1 unit, such as runs): report goes without its outputs"})
	wantUnits(t, "without it", l.run(Selection{Stages: []string{"report"}}), "report/all")
	var absent *AbsentError
	if !errors.As(got, &absent) || *absent != (AbsentError{"systems/runs.txt", "systems"}) {
		t.Errorf("Input of what is not there: %v, want an AbsentError", got)
	}
	wantUnits(t, "again", l.run(Selection{Stages: []string{"report"}}))

	reasons := planned(l.plan(Selection{}))["report/all"]
	if !strings.Contains(reasons, "input systems/runs.txt will be remade") {
		t.Errorf("once it can be made, report/all runs because %q", reasons)
	}
	wantUnits(t, "all", l.run(Selection{}), "systems/runs", "report/all")
	ok(t, got)
	wantUnits(t, "all again", l.run(Selection{}))

	l.remove("systems/runs.txt")
	if reasons := planned(l.plan(Selection{Stages: []string{"report"}}))["report/all"]; !strings.Contains(reasons, "input systems/runs.txt no longer read") {
		t.Errorf("once it is gone, report/all runs because %q", reasons)
	}
}

func TestWhatTwoUnitsWantIsCountedOnce(t *testing.T) {
	l := wanting(t)
	l.add("report", "more", nil)
	l.unit("report/more").Wants = []Ref{{"systems", "runs"}}
	l.run(Selection{Stages: []string{"replay"}})
	same(t, "warnings", l.plan(Selection{Stages: []string{"report"}}).Warnings, []string{"systems has not run (1 unit, such as runs): report goes without its outputs"})
}
