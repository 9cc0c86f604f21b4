package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	undisturbed "speceval/drills/lab"
)

// field is a lab with the small experiment, whose undisturbed run it knows.
type field struct {
	*lab
	experiment *undisturbed.Experiment
	watch      *watch
}

// trial is what came of one kind of fault.
type trial struct {
	fault     string
	runs      int // commands of the program
	injuries  []string
	submitted int // units, as often as they were
	again     int // units submitted while an earlier job of theirs lived
	together  int // units at which two elements were at once
	differing int // bytes of results that are not as in an undisturbed run
	skipped   string
}

// injured notes injuries that were done.
func (t *trial) injured(format string, args ...any) {
	t.injuries = append(t.injuries, fmt.Sprintf(format, args...))
}

// faults makes every fault, prints what came of them, and is an error unless all
// went well.
func faults(ctx context.Context, o options, dir string, stdout io.Writer) (err error) {
	l, err := newLab(ctx, o, dir, stdout, "--nodes", "2", "--memory", "6000")
	if err != nil {
		return err
	}
	defer func() { err = l.end(err) }()
	f := &field{lab: l}
	if err := f.prepare(); err != nil {
		return err
	}
	fleet, err := (&undisturbed.Lab{Dir: l.dir, Program: l.binary}).Serve(ctx, "fleet.txt", f.experiment.Configuration(), f.experiment.URLs, "--speed", fmt.Sprint(l.speed))
	if err != nil {
		return err
	}
	defer fleet.Kill()
	start := time.Now()
	if _, err := l.do(ctx, 0, f.words("run", f.undisturbed())...); err != nil {
		return fmt.Errorf("the undisturbed run: %w", err)
	}
	l.printf("an undisturbed local run took %.1f s; seed %d", time.Since(start).Seconds(), l.seed)
	f.watch = l.startWatch(ctx)
	defer f.watch.stop()
	return f.all(ctx)
}

// prepare writes the experiment.
func (f *field) prepare() (err error) {
	size := undisturbed.Full
	if f.small {
		size = undisturbed.Small
	}
	f.experiment, err = undisturbed.NewExperiment(f.dir, size)
	return err
}

// undisturbed is the output folder of the run without faults.
func (f *field) undisturbed() string { return f.path("undisturbed") }

// words are a command on the experiment.
func (f *field) words(command, out string, more ...string) []string {
	return slices.Concat([]string{command, "--config", f.experiment.Configuration(), "--out", out}, more)
}

// makers are the faults, by name.
var makers = []struct {
	name  string
	large bool // not in small
	make  func(f *field, ctx context.Context, t *trial) error
}{
	{"elements killed", false, (*field).elements},
	{"coordinator killed", false, (*field).coordinators},
	{"elements requeued", true, (*field).requeues},
	{"elements preempted", true, (*field).preemptions},
	{"controller killed", true, (*field).controllers},
	{"elements cancelled", false, (*field).cancels},
	{"node killed", true, (*field).nodes},
	{"out of memory", true, (*field).memory},
	{"out of time", true, (*field).time},
}

// all makes the faults. One that fails does not keep the others from being made.
func (f *field) all(ctx context.Context) error {
	var trials []*trial
	var errs []error
	for _, m := range makers {
		if m.large && f.small && f.only == "" || f.only != "" && !slices.Contains(strings.Split(f.only, ","), m.name) {
			continue
		}
		t := &trial{fault: m.name}
		before, start := f.commands, time.Now()
		err := m.make(f, ctx, t)
		t.runs = f.commands - before
		trials = append(trials, t)
		switch {
		case err == nil && t.differing > 0:
			err = fmt.Errorf("%d bytes differ", t.differing)
		case err == nil && t.again+t.together > 0:
			err = fmt.Errorf("%d units submitted while their job lived, %d in two elements at once", t.again, t.together)
		}
		f.printf("%s: %.0f s", m.name, time.Since(start).Seconds())
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", m.name, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	printTrials(f.stdout, trials)
	return errors.Join(errs...)
}

// printTrials prints the trials as a table in Markdown.
func printTrials(w io.Writer, trials []*trial) {
	fmt.Fprint(w, "\n| fault | runs | kills or injuries | units submitted | while a job lived | two at once | bytes differing |\n|---|---:|---|---:|---:|---:|---:|\n")
	for _, t := range trials {
		done := strings.Join(t.injuries, ", ")
		if t.skipped != "" {
			done = "skipped: " + t.skipped
		}
		fmt.Fprintf(w, "| %s | %d | %s | %d | %d | %d | %d |\n", t.fault, t.runs, done, t.submitted, t.again, t.together, t.differing)
	}
	fmt.Fprintln(w)
}

// begun is a new output folder, in small with the undisturbed rollouts and scores.
func (f *field) begun(name string) (string, error) {
	out := f.path(name)
	if !f.small {
		return out, nil
	}
	return out, errors.Join(undisturbed.CopyStage(f.undisturbed(), out, "generate"), undisturbed.CopyStage(f.undisturbed(), out, "score"))
}

// judge holds what is in an output folder to an undisturbed run, after a run that
// finds nothing to do and sweeps up what killed elements have left half-written.
func (f *field) judge(ctx context.Context, t *trial, out string) error {
	for _, words := range [][]string{f.words("run", out, throughSlurm()...), f.words("status", out, "--check")} {
		if _, err := f.do(ctx, 0, words...); err != nil {
			return err
		}
	}
	if err := f.count(t, out); err != nil {
		return err
	}
	broken, err := undisturbed.Broken(out)
	if err == nil && len(broken) > 0 {
		err = fmt.Errorf("only a manifest means done, but: %v", broken)
	}
	if err != nil {
		return err
	}
	want, err := f.reference(ctx, out)
	if err != nil {
		return err
	}
	found, err := undisturbed.CompareRollouts(f.undisturbed(), out)
	if err != nil {
		return err
	}
	rest, err := undisturbed.Compare(want, out)
	if err != nil {
		return err
	}
	for _, d := range append(found, rest...) {
		f.printf("%s: %v", filepath.Base(out), d)
	}
	t.differing += undisturbed.Total(append(found, rest...))
	return nil
}

// reference is a folder with the results of an undisturbed local run on the rollouts
// of an output folder: no two fleets take the same time for an answer, which
// rollouts tell, and all keys after them have their digest.
func (f *field) reference(ctx context.Context, out string) (string, error) {
	same, err := undisturbed.SameRollouts(f.undisturbed(), out)
	if same || err != nil {
		return f.undisturbed(), err
	}
	want := f.path("reference-" + filepath.Base(out))
	if err := undisturbed.CopyStage(out, want, "generate"); err != nil {
		return "", err
	}
	_, err = f.do(ctx, 0, f.words("run", want)...)
	return want, err
}
