// Package runs has the drills that disturb runs: faults of this machine, of a Slurm
// cluster and of the servers. What is left is compared with an undisturbed run.
package runs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"speceval/drills/lab"
)

// site is a lab with a small experiment, an undisturbed run of it, and the executor
// that the faults are made on.
type site struct {
	*lab.Lab
	experiment *lab.Experiment
	cluster    *lab.Cluster // of Slurm; nil: runs are local
	watch      *watch       // of the cluster's queue
}

// prepare writes the experiment, starts its fleet and makes the undisturbed run, which
// is local.
func (s *site) prepare(ctx context.Context, speed float64) (fleet *lab.Process, err error) {
	size := lab.Full
	if s.Small {
		size = lab.Small
	}
	if s.experiment, err = lab.NewExperiment(s.Dir, size); err != nil {
		return nil, err
	}
	fleet, err = s.Serve(ctx, "fleet.txt", s.experiment.Config, s.experiment.URLs, "--speed", fmt.Sprint(speed))
	if err != nil {
		return nil, err
	}
	start := time.Now()
	if err := s.baseline(ctx); err != nil {
		fleet.Kill()
		return nil, fmt.Errorf("the undisturbed run: %w", err)
	}
	s.Printf("an undisturbed run and another on its rollouts took %.1f s and gave the same bytes; seed %d, files in %s",
		time.Since(start).Seconds(), s.Seed, s.Dir)
	return fleet, nil
}

// baseline makes the undisturbed run, and compares a second one on the same rollouts
// with it.
func (s *site) baseline(ctx context.Context) error {
	if _, err := s.do(ctx, s.undisturbed(), 0, "run"); err != nil {
		return err
	}
	for _, stage := range lab.Stages {
		if n, err := units(s.undisturbed(), stage); n == 0 {
			return errors.Join(err, fmt.Errorf("no unit of %s has run", stage))
		}
	}
	again := s.Path("again")
	if err := lab.CopyStage(s.undisturbed(), again, lab.Stages[0]); err != nil {
		return err
	}
	if _, err := s.do(ctx, again, 0, "run"); err != nil {
		return err
	}
	found, err := lab.Compare(s.undisturbed(), again)
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("two undisturbed runs differ: %v", found)
	}
	return errors.Join(err, os.RemoveAll(again))
}

// undisturbed is the output folder of the run without faults.
func (s *site) undisturbed() string { return s.Path("undisturbed") }

// on adds the flags of the experiment and of an output folder to a command.
func (s *site) on(out string, words []string) []string {
	return append(words, "--config", s.experiment.Config, "--out", out)
}

// start starts a command of the program on an output folder.
func (s *site) start(out string, words ...string) (*lab.Process, error) {
	return s.Start(s.on(out, words)...)
}

// do runs a command of the program on an output folder to its end, which must have
// this exit code.
func (s *site) do(ctx context.Context, out string, code int, words ...string) (*lab.Process, error) {
	return s.Do(ctx, code, s.on(out, words)...)
}

// run is the command of a run on the site's executor, with more settings.
func (s *site) run(keys ...string) []string {
	if s.cluster == nil {
		return append([]string{"run"}, sets(keys...)...)
	}
	return append([]string{"run"}, throughSlurm(keys...)...)
}

// sets are flags that set keys of the configuration.
func sets(keys ...string) []string {
	var words []string
	for _, key := range keys {
		words = append(words, "--set", key)
	}
	return words
}

// copied is a copy of the undisturbed outputs, without some stages.
func (s *site) copied(name string, without ...string) (out string, err error) {
	out = s.Path(name)
	err = lab.CopyOutputs(s.undisturbed(), out)
	for _, stage := range without {
		if err == nil {
			err = lab.Forget(out, stage)
		}
	}
	return out, err
}

// units counts the units of a stage that are done.
func units(out, stage string) (int, error) {
	all, err := lab.Units(out, stage)
	return len(all), err
}

// left is how many units of a stage have no manifest.
func (s *site) left(out, stage string) (int, error) {
	all, errAll := units(s.undisturbed(), stage)
	done, err := units(out, stage)
	return all - done, errors.Join(errAll, err)
}

// whole is an error if an output folder claims results that it does not hold.
func whole(out string) error {
	broken, err := lab.Broken(out)
	if err == nil && len(broken) > 0 {
		err = fmt.Errorf("only a manifest means done, but: %v", broken)
	}
	return err
}

// clean is an error if files in the making are left in an output folder.
func clean(out string) error {
	left, err := lab.Leftovers(out)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("left over: %v", left)
	}
	return err
}

// finish runs the stale units of an output folder, which must end well, and compares
// the results with the undisturbed ones.
func (s *site) finish(ctx context.Context, t *trial, out string) error {
	if _, err := s.do(ctx, out, 0, s.run()...); err != nil {
		return err
	}
	return s.compare(ctx, t, out)
}

// compare is finish for a folder whose last run has ended. It removes the folder if the
// results are the same.
func (s *site) compare(ctx context.Context, t *trial, out string) error {
	if _, err := s.do(ctx, out, 0, "status", "--check"); err != nil {
		return err
	}
	if err := errors.Join(clean(out), whole(out)); err != nil {
		return err
	}
	if s.watch != nil {
		if err := s.count(t, out); err != nil {
			return err
		}
	}
	found, err := lab.CompareRollouts(s.undisturbed(), out)
	if err != nil {
		return err
	}
	want, err := s.reference(ctx, out)
	if err != nil {
		return err
	}
	rest, err := lab.Compare(want, out)
	if err != nil {
		return err
	}
	found = append(found, rest...)
	for _, d := range found {
		s.Printf("%s: %v", out, d)
	}
	if t.differing += lab.Total(found); len(found) > 0 {
		return nil // the trial fails; the folder shows why
	}
	if want != s.undisturbed() {
		err = os.RemoveAll(want)
	}
	return errors.Join(err, os.RemoveAll(out))
}

// reference is a folder with the results of an undisturbed local run on the rollouts of
// an output folder: no two runs record the same latencies, and the keys of all later
// units have the digest of the rollouts.
func (s *site) reference(ctx context.Context, out string) (string, error) {
	same, err := lab.SameRollouts(s.undisturbed(), out)
	if same || err != nil {
		return s.undisturbed(), err
	}
	want := s.Path("reference-" + filepath.Base(out))
	if err := lab.CopyStage(out, want, lab.Stages[0]); err != nil {
		return "", err
	}
	_, err = s.do(ctx, want, 0, "run")
	return want, err
}

// says is an error unless a command that has ended has this exit code and has printed
// all of these words.
func says(p *lab.Process, code int, all ...string) error {
	if p.Code() != code {
		return fmt.Errorf("exit code %d, want %d:\n%s", p.Code(), code, p.Last())
	}
	for _, words := range all {
		if !strings.Contains(p.Text(), words) {
			return fmt.Errorf("it does not say %q:\n%s", words, p.Last())
		}
	}
	return nil
}
