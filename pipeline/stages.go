package main

import (
	"context"
	"errors"
	"io"
	"path/filepath"

	"speceval/internal/display"
	"speceval/pipeline/dag"
	"speceval/pipeline/experiment"
	"speceval/pipeline/runlog"
	"speceval/pipeline/slurm"
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
	elsewhere func(out string) ([]runlog.Event, error)
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
var shipped = pipeline{load: experiment.Load, stages: stages, verify: func(e *experiment.Experiment) (verdicts, error) {
	return report.VerifyFolder(e.Reports, e.Out)
}}

// stages is the literal list of stages, in order.
func stages(e *experiment.Experiment) []dag.Stage {
	return []dag.Stage{e.Generate, e.Score, e.Replay, e.Systems, e.Report}
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
