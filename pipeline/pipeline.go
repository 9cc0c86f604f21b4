package main

import (
	"speceval/pipeline/experiment"
	"speceval/pipeline/runlog"
	"speceval/stages/report"
)

// pipeline is the experiment behind the commands. Tests put small experiments in place
// of the shipped one.
type pipeline struct {
	// load reads the configuration, with overrides of the form key=value.
	load func(file string, sets []string, o experiment.Outside) (*experiment.Experiment, error)
	// verify compares the results of an experiment with the paper.
	verify func(e *experiment.Experiment) (report.Verdicts, error)
	// elsewhere returns the units of an output folder that run, or ran, on other
	// machines; nil: those of jobs.
	elsewhere func(out string) ([]runlog.Event, error)
}

// reportStage is the stage that `speceval tables` runs.
const reportStage = "report"

// shipped is the pipeline of experiments.toml.
var shipped = pipeline{load: experiment.Load, verify: func(e *experiment.Experiment) (report.Verdicts, error) {
	return report.VerifyFolder(e.Reports, e.Out)
}}
