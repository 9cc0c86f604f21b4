package experiment

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"speceval/internal/clock"
	"speceval/pipeline/config"
	"speceval/pipeline/dag"
	"speceval/pipeline/executor"
)

// grace is the time after an interrupt in which another one cancels the jobs.
const grace = 10 * time.Second

// Jobs completes the settings of the Slurm executor, which come with Client,
// Process, Drain, Report and Now, by what the configuration says; nil where it
// has all units run on this machine.
func (e *Experiment) Jobs(s executor.Settings) (*executor.Settings, error) {
	if e.Executor.Kind != config.ExecutorSlurm {
		return nil, nil
	}
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program for the jobs: %w", err)
	}
	if s.Build, err = executor.BuildOf(program); err != nil {
		return nil, err
	}
	if s.Directory, err = os.Getwd(); err != nil {
		return nil, err
	}
	out, err := filepath.Abs(e.Out)
	if err != nil {
		return nil, err
	}
	file, err := filepath.Abs(e.file)
	if err != nil {
		return nil, err
	}
	s.Program = []string{program, "--config", file, "--out", out}
	for _, set := range e.sets {
		s.Program = append(s.Program, "--set", set)
	}
	seconds := func(x float64) time.Duration { return time.Duration(x * float64(time.Second)) }
	x := e.Executor
	s.Folder, s.Stages, s.Clock, s.Grace = filepath.Join(out, dag.JobsDir), e.jobStages(), clock.Wall{}, grace
	s.ArraySize, s.Throttle, s.Retries = x.ArraySize, x.Throttle, x.Retries
	s.Element, s.Poll, s.Settle = seconds(60*x.ElementMinutes), seconds(x.PollSeconds), seconds(x.SettleSeconds)
	return &s, nil
}

// jobStages are the resources of the stages that run in jobs. One whose units
// start servers runs one unit at a time on a node.
func (e *Experiment) jobStages() map[string]executor.Resources {
	stages := make(map[string]executor.Resources)
	x := e.Executor
	for name, r := range x.Stages {
		if r.Where != config.WhereJobs {
			continue
		}
		resources := executor.Resources{
			Partition: cmp.Or(r.Partition, x.Partition), Account: cmp.Or(r.Account, x.Account), QOS: cmp.Or(r.QOS, x.QOS),
			CPUs: r.CPUs, MemoryMiB: r.MemoryMiB, Minutes: r.Minutes, Arguments: r.Arguments, Workers: r.CPUs,
		}
		if e.Servers[name] {
			resources.GPUs, resources.Exclusive, resources.Workers = r.GPUs, r.Exclusive, 1
		}
		stages[name] = resources
	}
	return stages
}

// ElementSeconds is how long one core would take for what an element of a job
// array is to hold, by the stages that run in jobs; nil where none does.
func (e *Experiment) ElementSeconds() map[string]float64 {
	if e.Executor.Kind != config.ExecutorSlurm {
		return nil
	}
	seconds := make(map[string]float64)
	for name, r := range e.jobStages() {
		seconds[name] = 60 * e.Executor.ElementMinutes * float64(max(1, r.Workers))
	}
	return seconds
}
