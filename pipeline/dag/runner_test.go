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
	var names []string
	for name := range files {
		if strings.Contains(name, editedMark) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func TestSameBytesForEveryNumberOfWorkers(t *testing.T) {
	var want map[string]string
	for _, workers := range []int{1, 2, 8} {
		l := crossing(t)
		l.workers = workers
		l.run(Selection{})
		got := l.contents()
		if want == nil {
			want = got
		}
		if len(got) != 6 || !maps.Equal(got, want) {
			t.Errorf("%d workers: files %v, want %v", workers, got, want)
		}
	}
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
			if err := job.Write(u.Outputs[0], -1, text("half done")); err != nil {
				return err
			}
			return errBroken
		},
	}
	for way, fail := range ways {
		for i, victim := range order {
			l := crossing(t)
			l.hook = func(_ context.Context, unit string, job *Job) error {
				if unit == victim {
					return fail(l.unit(unit), job)
				}
				return nil
			}
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
			if !maps.Equal(got, whole.contents()) {
				t.Errorf("%s at %s: other files than in one go: %v", way, victim, got)
			}
		}
	}
}

func TestKeepGoingRunsWhatDoesNotDependOnTheFailure(t *testing.T) {
	l := crossing(t)
	l.keep = true
	l.hook = func(_ context.Context, unit string, _ *Job) error {
		if unit == "replay/x" || unit == "score/b" {
			return fmt.Errorf("%s is %w", unit, errBroken)
		}
		return nil
	}
	ran, err := l.try(Selection{})
	wantUnits(t, "tried", ran, "score/a", "score/b", "replay/x")
	const want = "2 units failed, 3 not run\n  score/b: score/b is broken\n  replay/x: replay/x is broken"
	if err == nil || err.Error() != want || !errors.Is(err, errBroken) {
		t.Errorf("error %v, want %q", err, want)
	}
}

func TestFailureLetsUnitsInFlightFinishAndStartsNoOther(t *testing.T) {
	l := crossing(t)
	l.workers = 2
	both, failed := make(chan struct{}), make(chan struct{})
	l.hook = func(_ context.Context, unit string, _ *Job) error {
		if unit == "score/a" {
			<-both
			close(failed)
			return errBroken
		}
		close(both)
		<-failed
		return nil
	}
	ran, err := l.try(Selection{})
	wantUnits(t, "tried", ran, "score/a", "score/b")
	if !errors.Is(err, errBroken) {
		t.Errorf("error %v", err)
	}
	l.hook = nil
	wantUnits(t, "left", l.run(Selection{}), "score/a", "replay/x", "replay/y", "replay/z", "report/all")
}

func TestFirstInterruptDrains(t *testing.T) {
	l := crossing(t)
	drain := make(chan struct{})
	l.hook = func(_ context.Context, unit string, _ *Job) error {
		if unit == "score/b" {
			close(drain)
		}
		return nil
	}
	err := l.runner().Run(t.Context(), drain, l.plan(Selection{}))
	var stopped *Error
	if !errors.As(err, &stopped) || !stopped.Interrupted || stopped.NotRun != 4 || len(stopped.Failures) != 0 {
		t.Errorf("error %v, want an interruption with 4 units not run", err)
	}
	wantUnits(t, "run", l.ran, "score/a", "score/b")
	wantUnits(t, "left", l.run(Selection{}), "replay/x", "replay/y", "replay/z", "report/all")
}

func TestInterruptDuringTheLastUnitIsNoSuccess(t *testing.T) {
	l := crossing(t)
	drain := make(chan struct{})
	l.hook = func(_ context.Context, unit string, _ *Job) error {
		if unit == "report/all" {
			close(drain)
		}
		return nil
	}
	err := l.runner().Run(t.Context(), drain, l.plan(Selection{}))
	var stopped *Error
	if !errors.As(err, &stopped) || !stopped.Interrupted || stopped.NotRun != 0 {
		t.Errorf("error %v, want an interruption with nothing left", err)
	}
}

func TestSecondInterruptCancelsUnitsInFlight(t *testing.T) {
	l := crossing(t)
	ctx, cancel := context.WithCancel(t.Context())
	l.hook = func(ctx context.Context, unit string, _ *Job) error {
		if unit == "replay/x" {
			cancel()
			<-ctx.Done()
			return fmt.Errorf("stop: %w", ctx.Err())
		}
		return nil
	}
	err := l.runner().Run(ctx, nil, l.plan(Selection{}))
	var stopped *Error
	if !errors.As(err, &stopped) || !stopped.Interrupted || stopped.NotRun != 4 || len(stopped.Failures) != 0 {
		t.Errorf("error %v, want an interruption with 4 units not run", err)
	}
	l.hook = nil
	wantUnits(t, "left", l.run(Selection{}), "replay/x", "replay/y", "replay/z", "report/all")
}

func TestCancelledBeforeItStarts(t *testing.T) {
	l := crossing(t)
	ctx, cancel := context.WithCancel(t.Context())
	plan := l.plan(Selection{})
	cancel()
	err := l.runner().Run(ctx, nil, plan)
	var stopped *Error
	if !errors.As(err, &stopped) || !stopped.Interrupted || stopped.NotRun != 6 {
		t.Errorf("error %v, want an interruption with 6 units not run", err)
	}
	wantUnits(t, "run", l.ran)
}

// quitter is an executor that leaves without running anything.
type quitter struct{}

func (quitter) Execute(context.Context, <-chan Task, chan<- Result) {}

func TestExecutorThatGivesUpIsAnError(t *testing.T) {
	l := crossing(t)
	r := l.runner()
	r.Executor = quitter{}
	if err := r.Run(t.Context(), nil, l.plan(Selection{})); err == nil || !strings.Contains(err.Error(), "6 units of the plan did not run") {
		t.Errorf("error %v", err)
	}
}

// liar is an executor that reports success without running anything.
type liar struct{}

func (liar) Execute(_ context.Context, ready <-chan Task, results chan<- Result) {
	for task := range ready {
		results <- Result{Task: task}
	}
}

func TestOnlyAManifestMeansDone(t *testing.T) {
	l := crossing(t)
	r := l.runner()
	r.Executor = liar{}
	if err := r.Run(t.Context(), nil, l.plan(Selection{})); err == nil || !strings.Contains(err.Error(), "left no manifest") {
		t.Errorf("error %v", err)
	}
}

func TestManifestOfAnEarlierRunIsNotTaken(t *testing.T) {
	l := crossing(t)
	l.run(Selection{})
	l.stages[0].Version = 2
	r := l.runner()
	r.Executor = liar{}
	if err := r.Run(t.Context(), nil, l.plan(Selection{})); err == nil || !strings.Contains(err.Error(), "its manifest has key") {
		t.Errorf("error %v", err)
	}
}

func TestRunSweepsLeftovers(t *testing.T) {
	l := crossing(t)
	l.put("score/a.txt.123.partial", "half")
	l.run(Selection{})
	if _, left := l.contents()["score/a.txt.123.partial"]; left {
		t.Error("a leftover of an earlier run is still there")
	}
}

// watcher notes the events of a run.
type watcher struct {
	seen []string
	keys []string // of starts and ends
}

func (w *watcher) observe(e Event) {
	switch {
	case e.Progress != nil:
		w.seen = append(w.seen, fmt.Sprintf("at %s %d/%d %s", e.Unit, e.Progress.Done, e.Progress.Total, e.Progress.What))
		return
	case e.Manifest != nil || e.Err != nil:
		w.seen = append(w.seen, fmt.Sprintf("end %s %v", e.Unit, e.Err))
	default:
		w.seen = append(w.seen, "start "+e.Unit.String())
	}
	w.keys = append(w.keys, e.Key)
}

func TestEveryEventIsObservedOnce(t *testing.T) {
	l := crossing(t)
	l.hook = func(_ context.Context, unit string, _ *Job) error {
		if unit == "score/b" {
			return errBroken
		}
		return nil
	}
	w := new(watcher)
	r := l.runner()
	r.Observe = w.observe
	if err := r.Run(t.Context(), nil, l.plan(Selection{})); err == nil {
		t.Fatal("no error")
	}
	want := []string{"start score/a", "end score/a <nil>", "start score/b", "end score/b broken"}
	if !slices.Equal(w.seen, want) {
		t.Errorf("seen %q, want %q", w.seen, want)
	}
	first := l.scan().Records()[0].Key
	if len(w.keys) != 4 || w.keys[0] != first || w.keys[1] != first || w.keys[2] != w.keys[3] || w.keys[2] == first || w.keys[2] == "" {
		t.Errorf("keys %q: want that of score/a twice, %s, and that of score/b twice", w.keys, first)
	}
}
