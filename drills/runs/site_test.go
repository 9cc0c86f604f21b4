//go:build drill

// Package runs_test disturbs runs: faults of this machine, of a Slurm cluster and of the
// servers. What is left is compared with an undisturbed run. It is make drill-generate,
// drill-faults and drill-slurm.
package runs_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"speceval/drills/drill"
)

var (
	only  = flag.String("only", "", "faults: those named, with commas; empty: all")
	speed = flag.Float64("speed", -1, "of the fleet; 0: it answers at once; negative: 300, and 100 for generate")
)

// site is a lab with a small experiment, an undisturbed run of it, and the executor
// that the faults are made on.
type site struct {
	*drill.Lab
	experiment *experiment
	cluster    *drill.Cluster // of Slurm; nil: runs are local
	watch      *watch         // of the cluster's queue
}

// in is the site in a subtest.
func (s *site) in(l *drill.Lab) *site {
	part := *s
	part.Lab = l
	return &part
}

// fleetSpeed is the flag, or a default.
func fleetSpeed(otherwise float64) string {
	if *speed >= 0 {
		otherwise = *speed
	}
	return fmt.Sprint(otherwise)
}

// prepare writes the experiment, starts its fleet and makes the undisturbed run, which
// is local, and a second one on the same rollouts.
func (s *site) prepare() {
	of := full
	if s.Small {
		of = short
	}
	s.experiment = newExperiment(s.Lab, of)
	s.Serve("fleet.txt", s.experiment.config, s.experiment.urls, "--speed", fleetSpeed(300))
	start := time.Now()
	s.do(s.undisturbed(), 0, "run")
	for _, stage := range drill.Stages {
		if len(s.Units(s.undisturbed(), stage)) == 0 {
			s.Fatalf("no unit of %s has run", stage)
		}
	}
	again := s.Path("again")
	s.CopyStage(s.undisturbed(), again, drill.Stages[0])
	s.do(again, 0, "run")
	if found := s.Compare(s.undisturbed(), again); len(found) > 0 {
		s.Fatalf("two undisturbed runs differ: %v", found)
	}
	s.OK(os.RemoveAll(again))
	s.Logf("an undisturbed run and another on its rollouts took %.1f s and gave the same bytes; seed %d", time.Since(start).Seconds(), drill.Seed())
}

// undisturbed is the output folder of the run without faults.
func (s *site) undisturbed() string { return s.Path("undisturbed") }

// on adds the flags of the experiment and of an output folder to a command.
func (s *site) on(out string, words []string) []string {
	return append(words, "--config", s.experiment.config, "--out", out)
}

// start starts a command of the program on an output folder.
func (s *site) start(out string, words ...string) *drill.Process {
	s.Helper()
	return s.Start(s.on(out, words)...)
}

// do runs a command of the program on an output folder to its end, which must have
// this exit code.
func (s *site) do(out string, code int, words ...string) *drill.Process {
	s.Helper()
	return s.Do(code, s.on(out, words)...)
}

// run is the command of a run on the site's executor, with more settings.
func (s *site) run(keys ...string) []string {
	if s.cluster == nil {
		return append([]string{"run"}, sets(keys...)...)
	}
	return append([]string{"run"}, throughSlurm(keys...)...)
}

// sets are flags that set keys of the configuration.
func sets(keys ...string) (words []string) {
	for _, key := range keys {
		words = append(words, "--set", key)
	}
	return words
}

// copied is a copy of the undisturbed outputs, without some stages.
func (s *site) copied(name string, without ...string) (out string) {
	s.Helper()
	out = s.Path(name)
	s.OK(os.CopyFS(out, os.DirFS(s.undisturbed())))
	for _, stage := range without {
		s.Forget(out, stage)
	}
	return out
}

// left is how many units of a stage have no manifest.
func (s *site) left(out, stage string) int {
	return len(s.Units(s.undisturbed(), stage)) - len(s.Units(out, stage))
}

// finish runs the stale units of an output folder, which must end well, and compares
// the results with the undisturbed ones.
func (s *site) finish(t *trial, out string) {
	s.Helper()
	s.do(out, 0, s.run()...)
	s.compare(t, out)
}

// compare is finish for a folder whose last run has ended. It removes the folder if the
// results are the same.
func (s *site) compare(t *trial, out string) {
	s.Helper()
	s.do(out, 0, "status", "--check")
	s.Clean(out)
	s.Whole(out)
	if s.watch != nil {
		s.count(t, out)
	}
	want := s.reference(out)
	found := append(s.CompareRollouts(s.undisturbed(), out), s.Compare(want, out)...)
	for _, d := range found {
		s.Logf("%s: %v", out, d)
		t.differing += d.Bytes
	}
	if len(found) > 0 {
		return // the trial fails; the folder shows why
	}
	if want != s.undisturbed() {
		s.OK(os.RemoveAll(want))
	}
	s.OK(os.RemoveAll(out))
}

// reference is a folder with the results of an undisturbed local run on the rollouts of
// an output folder: no two runs record the same latencies, and the keys of all later
// units have the digest of the rollouts.
func (s *site) reference(out string) string {
	s.Helper()
	if s.SameRollouts(s.undisturbed(), out) {
		return s.undisturbed()
	}
	want := s.Path("reference-" + filepath.Base(out))
	s.CopyStage(out, want, drill.Stages[0])
	s.do(want, 0, "run")
	return want
}
