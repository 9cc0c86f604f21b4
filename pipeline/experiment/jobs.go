package experiment

import (
	"os"
	"path/filepath"
	"time"

	"speceval/internal/machine/clock"
	"speceval/pipeline/dag"
	"speceval/pipeline/slurm"
)

// Jobs completes the settings of jobs, which come with Process, Drain, Report and Now,
// by what the configuration and the environment say.
func (e *Experiment) Jobs(s slurm.Settings) (slurm.Settings, error) {
	out, err := filepath.Abs(e.Out)
	s.Executor, s.Resources, s.Run = e.Executor, e.inJobs(), slurm.Run(e.outside.Environment, time.Duration(e.Executor.AnswerSeconds*float64(time.Second)))
	s.Folder, s.Clock, s.Grace = filepath.Join(out, dag.JobsDir), clock.Wall{}, 10*time.Second
	if err != nil || !s.InJobs() {
		return s, err
	}
	program, build, err := slurm.Build()
	if err != nil {
		return s, err
	}
	s.Build = build
	s.Directory, err = os.Getwd()
	file, _ := filepath.Abs(e.file) // which fails where Getwd does
	s.Program = []string{program, "--config", file, "--out", out}
	for _, set := range e.sets {
		s.Program = append(s.Program, "--set", set)
	}
	return s, err
}

// inJobs are the resources of the stages that run in jobs.
func (e *Experiment) inJobs() map[string]slurm.Resources {
	return slurm.ResourcesOf(e.Executor, e.Servers, func(name string) string { return Variable(e.outside.Environment, name) })
}

// ElementSeconds is how long one core would take for what an element of a job
// array is to hold, by the stages that run in jobs; nil where none does.
func (e *Experiment) ElementSeconds() map[string]float64 {
	if !e.Executor.InJobs() {
		return nil
	}
	seconds := make(map[string]float64)
	for name, r := range e.inJobs() {
		seconds[name] = 60 * e.Executor.ElementMinutes * float64(r.Workers)
	}
	return seconds
}
