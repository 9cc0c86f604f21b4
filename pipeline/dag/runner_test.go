package dag

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// editedFiles are the names of files that were moved aside.
func editedFiles(files map[string]string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(files)), func(name string) bool { return !strings.Contains(name, editedMark) })
}

// TestResumeAfterFailureAnywhere makes each unit in turn fail, by an error, by
// a panic or after its output was written, and runs again.
func TestResumeAfterFailureAnywhere(t *testing.T) {
	whole := crossing(t)
	order := whole.run(Selection{})
	ways := map[string]func(u *Unit, job *Job) error{
		"error": func(*Unit, *Job) error { return errBroken },
		"panic": func(*Unit, *Job) error { panic("broken") },
		"after another output": func(u *Unit, job *Job) error {
			return errors.Join(job.Write(u.Outputs[0], -1, text("half done")), errBroken)
		},
	}
	for way, fail := range ways {
		for i, victim := range order {
			l := crossing(t)
			l.hook = hooks{victim: func(_ context.Context, job *Job) error { return fail(l.unit(victim), job) }}
			ran, err := l.try(Selection{})
			var failed *Error
			if !errors.As(err, &failed) || len(failed.Failures) != 1 || failed.Failures[0].Unit.String() != victim {
				t.Fatalf("%s at %s: error %v does not name the unit", way, victim, err)
			}
			if !strings.Contains(err.Error(), "broken") || failed.NotRun != len(order)-i-1 {
				t.Errorf("%s at %s: error %q, %d not run", way, victim, err, failed.NotRun)
			}
			wantUnits(t, "before the failure", ran, order[:i+1]...)
			l.hook = nil
			wantUnits(t, "after the failure", l.run(Selection{}), order[i:]...)
			got := l.contents()
			if aside := editedFiles(got); way == "after another output" {
				delete(got, aside[0]) // no manifest vouched for these bytes, so they were kept
			}
			same(t, way+" at "+victim+": files", got, whole.contents())
		}
	}
}

func TestKeepGoingRunsWhatDoesNotDependOnTheFailure(t *testing.T) {
	l := crossing(t)
	l.keep = true
	fail := func(_ context.Context, job *Job) error { return fmt.Errorf("%s is %w", job.ref, errBroken) }
	l.hook = hooks{"replay/x": fail, "score/b": fail}
	ran, err := l.try(Selection{})
	wantUnits(t, "tried", ran, "score/a", "score/b", "replay/x")
	const want = "2 units failed, 3 not run\n  score/b: score/b is broken\n  replay/x: replay/x is broken"
	if err == nil || err.Error() != want || !errors.Is(err, errBroken) {
		t.Errorf("error %v, want %q", err, want)
	}
	many := Error{Failures: slices.Repeat([]Event{{Unit: Ref{"replay", "x"}, Err: errBroken}}, 30)}
	if text := many.Error(); strings.Count(text, "\n") != 21 || !strings.HasSuffix(text, "and 10 more: `speceval status --json` has all") {
		t.Errorf("many failures: %s", text)
	}
}

func TestFailureLetsUnitsInFlightFinishAndStartsNoOther(t *testing.T) {
	l := crossing(t)
	l.workers = 2
	both, failed := make(chan struct{}), make(chan struct{})
	l.hook = hooks{"score/a": func(context.Context, *Job) error {
		<-both
		close(failed)
		return errBroken
	}, "score/b": func(context.Context, *Job) error {
		close(both)
		<-failed
		return nil
	}}
	ran, err := l.try(Selection{})
	wantUnits(t, "tried", ran, "score/a", "score/b")
	if !errors.Is(err, errBroken) {
		t.Errorf("error %v", err)
	}
	l.hook = nil
	wantUnits(t, "left", l.run(Selection{}), "score/a", "replay/x", "replay/y", "replay/z", "report/all")
}

// TestInterruptedRuns drains a run or cancels it while a unit is at work; the next run does what
// is left.
func TestInterruptedRuns(t *testing.T) {
	for _, test := range []struct {
		at    string // "": before the run
		drain bool
		left  int
	}{{"", false, 6}, {"score/b", true, 4}, {"report/all", true, 0}, {"replay/x", false, 4}} {
		l, drain := crossing(t), make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		l.hook = hooks{test.at: func(ctx context.Context, _ *Job) error {
			if test.drain {
				close(drain)
				return nil
			}
			cancel()
			<-ctx.Done()
			return fmt.Errorf("stop: %w", ctx.Err())
		}}
		plan := l.plan(Selection{})
		if test.at == "" {
			cancel()
		}
		err := l.runner().Run(ctx, drain, plan)
		var stopped *Error
		if !errors.As(err, &stopped) || !stopped.Interrupted || stopped.NotRun != test.left || len(stopped.Failures) != 0 {
			t.Errorf("%+v: error %v", test, err)
		}
		l.hook = nil
		same(t, fmt.Sprintf("%+v: left", test), len(l.run(Selection{})), test.left)
	}
}

// careless is an executor that runs nothing. It leaves at once, or reports success.
type careless struct{ lies bool }

func (c careless) Execute(_ context.Context, ready <-chan Task, results chan<- Result) {
	if c.lies {
		for task := range ready {
			results <- Result{Task: task}
		}
	}
}

func TestOnlyAManifestMeansDone(t *testing.T) {
	for want, test := range map[string]struct{ lies, before bool }{
		"6 units of the plan did not run": {false, false}, "left no manifest": {true, false}, "its manifest has key": {true, true},
	} {
		l := crossing(t)
		if test.before {
			l.run(Selection{})
			l.stages[0].Version = 2
		}
		r := l.runner()
		r.Executor = careless{test.lies}
		says(t, r.Run(t.Context(), nil, l.plan(Selection{})), want)
	}
}
