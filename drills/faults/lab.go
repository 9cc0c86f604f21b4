package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	process "speceval/drills/lab"
	undisturbed "speceval/drills/lab"
)

// lab is where the drill happens: a folder with an experiment, the outputs of an
// undisturbed run of it and those of runs with faults.
type lab struct {
	options
	dir        string
	stdout     io.Writer
	experiment *undisturbed.Experiment
	started    int // commands, whose output is in a file each
}

func newLab(o options, dir string, size undisturbed.Size, stdout io.Writer) (*lab, error) {
	l := &lab{options: o, dir: dir, stdout: stdout}
	if err := os.Mkdir(l.path("logs"), 0o777); err != nil {
		return nil, err
	}
	var err error
	l.experiment, err = undisturbed.NewExperiment(dir, size)
	return l, err
}

func (l *lab) path(name string) string { return filepath.Join(l.dir, name) }

// undisturbed is the output folder of the run without faults.
func (l *lab) undisturbed() string { return l.path("undisturbed") }

// command is a command of the program under way, and where its output goes.
type command struct {
	*process.Process
	log string
}

// text is what it has said so far.
func (c *command) text() string {
	text, err := os.ReadFile(c.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// start starts a command of the program on an output folder.
func (l *lab) start(out string, words ...string) (*command, error) {
	l.started++
	log := l.path(fmt.Sprintf("logs/%03d-%s-%s.txt", l.started, words[0], filepath.Base(out)))
	p, err := process.StartProgram(log, nil, l.binary, append(words, "--config", l.experiment.Configuration(), "--out", out)...)
	return &command{p, log}, err
}

// do runs a command of the program on an output folder to its end, which must have
// this exit code.
func (l *lab) do(ctx context.Context, out string, code int, words ...string) (*command, error) {
	c, err := l.start(out, words...)
	if err != nil {
		return nil, err
	}
	defer c.Kill()
	if err := c.Wait(ctx); err != nil {
		return nil, err
	}
	if c.Code() != code {
		return c, fmt.Errorf("speceval %v: exit code %d, want %d:\n%s", words, c.Code(), code, c.Last())
	}
	return c, nil
}

// baseline makes the undisturbed run, and sees to it that a second one on the same
// rollouts gives the same bytes.
func (l *lab) baseline(ctx context.Context) error {
	if _, err := l.do(ctx, l.undisturbed(), 0, "run"); err != nil {
		return err
	}
	for _, stage := range undisturbed.Stages {
		units, err := undisturbed.Units(l.undisturbed(), stage)
		if err == nil && len(units) == 0 {
			err = fmt.Errorf("no unit of %s has run", stage)
		}
		if err != nil {
			return err
		}
	}
	again := l.path("again")
	if err := undisturbed.CopyStage(l.undisturbed(), again, undisturbed.Stages[0]); err != nil {
		return err
	}
	if _, err := l.do(ctx, again, 0, "run"); err != nil {
		return err
	}
	found, err := undisturbed.Compare(l.undisturbed(), again)
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("two undisturbed runs differ: %v", found)
	}
	return errors.Join(err, os.RemoveAll(again))
}

// copied is a copy of the undisturbed outputs, without those of some stages.
func (l *lab) copied(name string, without ...string) (out string, err error) {
	out = l.path(name)
	if err := undisturbed.CopyOutputs(l.undisturbed(), out); err != nil {
		return "", err
	}
	for _, stage := range without {
		if err := undisturbed.Forget(out, stage); err != nil {
			return "", err
		}
	}
	return out, nil
}

// whole is an error if an output folder claims what it does not hold.
func whole(out string) error {
	broken, err := undisturbed.Broken(out)
	if err == nil && len(broken) > 0 {
		err = fmt.Errorf("only a manifest means done, but: %v", broken)
	}
	return err
}

// finish runs what is stale in an output folder, which must end well and leave
// nothing half-written, and compares the results with the undisturbed ones. It
// removes the folder if they are the same.
func (l *lab) finish(ctx context.Context, t *trial, out string) error {
	if _, err := l.do(ctx, out, 0, "run"); err != nil {
		return err
	}
	return l.compare(ctx, t, out)
}

// compare is finish for a folder whose last run has ended.
func (l *lab) compare(ctx context.Context, t *trial, out string) error {
	if _, err := l.do(ctx, out, 0, "status", "--check"); err != nil {
		return err
	}
	left, err := undisturbed.Leftovers(out)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("left over: %v", left)
	}
	if err := errors.Join(err, whole(out)); err != nil {
		return err
	}
	found, err := undisturbed.CompareRollouts(l.undisturbed(), out)
	if err != nil {
		return err
	}
	want, err := l.reference(ctx, out)
	if err != nil {
		return err
	}
	rest, err := undisturbed.Compare(want, out)
	if err != nil {
		return err
	}
	for _, d := range append(found, rest...) {
		fmt.Fprintf(l.stdout, "%s: %v\n", out, d)
	}
	n := undisturbed.Total(append(found, rest...))
	if t.differing += n; n > 0 {
		return nil // the trial fails; the folder tells why
	}
	if want != l.undisturbed() {
		err = os.RemoveAll(want)
	}
	return errors.Join(err, os.RemoveAll(out))
}

// reference is a folder with the results of an undisturbed run on the rollouts of
// an output folder.
func (l *lab) reference(ctx context.Context, out string) (string, error) {
	same, err := undisturbed.SameRollouts(l.undisturbed(), out)
	if same || err != nil {
		return l.undisturbed(), err
	}
	want := l.path("reference-" + filepath.Base(out))
	if err := undisturbed.CopyStage(out, want, undisturbed.Stages[0]); err != nil {
		return "", err
	}
	_, err = l.do(ctx, want, 0, "run")
	return want, err
}
