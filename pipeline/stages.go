package main

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"time"

	"speceval/internal/display"
	"speceval/pipeline/dag"
	"speceval/pipeline/experiment"
	"speceval/pipeline/slurm"
	"speceval/pipeline/status"
	"speceval/stages/report"
)

// pipeline is what the commands work on. Tests put small experiments in place
// of the shipped one.
type pipeline struct {
	// load reads the configuration, with overrides of the form key=value.
	load func(file string, sets []string, o experiment.Outside) (*experiment.Experiment, error)
	// stages are those of an experiment, in order.
	stages func(e *experiment.Experiment) []dag.Stage
	// verify compares the results of an experiment with the paper.
	verify func(e *experiment.Experiment) (verdicts, error)
	// elsewhere returns the units of an output folder that run, or ran, on other
	// machines; nil: those of jobs.
	elsewhere func(out string) ([]slurm.Standing, error)
}

// verdicts is the comparison of results with the paper.
type verdicts interface {
	Text(io.Writer) error
	JSON(io.Writer) error
	Passed() bool
	Missing() int
}

// reportStage is the stage that `speceval tables` runs.
const reportStage = "report"

// shipped is the pipeline of experiments.toml.
var shipped = pipeline{load: experiment.Load, stages: stages, verify: compare}

// stages is the literal list of stages, in order.
func stages(e *experiment.Experiment) []dag.Stage {
	return []dag.Stage{e.Generate, e.Score, e.Replay, e.Systems, e.Report}
}

func compare(e *experiment.Experiment) (verdicts, error) {
	return report.VerifyFolder(e.Reports, e.Out)
}

// placeOf is where the units of the plan run.
func (s *session) placeOf(ctx context.Context, o *opened, drain <-chan struct{}, plan *dag.Plan) (slurm.Place, error) {
	run := slurm.Run(s.environment, o.Answer())
	jobs, err := o.Jobs(slurm.Settings{Run: run, Process: s.pid, Drain: drain, Report: s.report, Now: s.now}, s.variable)
	if err != nil {
		return slurm.Place{}, err
	}
	where, err := slurm.PlaceOf(ctx, plan, o.Workers, run, filepath.Join(o.Out, dag.JobsDir), jobs)
	var refused *slurm.RefusedError
	if errors.As(err, &refused) {
		return where, &usageError{err}
	}
	if where.Earlier > 0 {
		s.say("jobs of an earlier run are at work on %s: they are not submitted again", display.Units(where.Earlier))
	}
	return where, err
}

// answerLimit is how long a command that polls jobs may take where no configuration is
// read.
const answerLimit = time.Minute

// elsewhere are the units of an output folder that wait or run in jobs, or have
// failed there.
func (s *session) elsewhere(out string) ([]slurm.Standing, error) {
	if s.pipeline.elsewhere != nil {
		return s.pipeline.elsewhere(out)
	}
	ctx, stop := s.interruptible()
	defer stop()
	return slurm.Standings(ctx, slurm.Run(s.environment, answerLimit), filepath.Join(out, dag.JobsDir))
}

// runElement runs the units of an element of a job array that are not done yet.
func (s *session) runElement(dir string) error {
	w, err := slurm.NewWorker(dir, s.variable, s.origin, s.now)
	var none *slurm.RefusedError
	if errors.As(err, &none) {
		return &usageError{err}
	}
	if err != nil {
		return err
	}
	return errors.Join(s.work(w), w.Close())
}

// work runs the units of a worker.
func (s *session) work(w *slurm.Worker) error {
	if err := w.SameProgram(); err != nil {
		return w.Refuse(err)
	}
	s.logs = w.Logs
	o, err := s.open(dag.Selection{Stages: []string{w.Stage}})
	if err != nil {
		return w.Refuse(err)
	}
	ctx, stop := s.interruptible()
	defer stop()
	err = w.Run(ctx, o.graph, o.Out, &elementLines{session: s, long: status.Running{}})
	return errors.Join(err, o.close(ctx))
}

// elementLines writes what happens to the units of an element into its log for
// people.
type elementLines struct {
	dag.NoObserver
	*session
	long status.Running
}

// Advanced writes a line about a long unit.
func (e *elementLines) Advanced(unit dag.Ref, p dag.Progress) {
	now := e.now()
	e.say("%s %s %s", status.Dated(now), unit, e.long.Note(unit, p, now).Text(now))
}

// Finished writes what came of a unit.
func (e *elementLines) Finished(done dag.Outcome) {
	if done.Manifest == nil {
		e.say("%s was done before", done.Unit)
		return
	}
	e.sayUnit(done.Manifest)
}
