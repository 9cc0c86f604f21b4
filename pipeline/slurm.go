package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"speceval/internal/clock"
	"speceval/internal/slurm"
	"speceval/pipeline/config"
	"speceval/pipeline/dag"
	"speceval/pipeline/executor"
	"speceval/pipeline/runlog"
)

// grace is the time after an interrupt in which another one cancels the jobs.
const grace = 10 * time.Second

// inJobs tells whether the units of some stages run in Slurm jobs.
func (o *opened) inJobs() bool { return o.Executor.Kind == config.ExecutorSlurm }

// estimated is how long the units of a stage will take where they run.
func (o *opened) estimated(stage *dag.StagePlan) string {
	resources, inJobs := jobStages(o.Executor, o.Servers)[stage.Stage.Name]
	if !o.inJobs() || !inJobs {
		return estimated(stage.Estimate(o.Workers))
	}
	e := stage.Estimate(1)
	known := len(stage.Run) - e.Unknown
	perElement := 60 * o.Executor.ElementMinutes * float64(max(1, resources.Workers))
	elements := e.Unknown + min(known, int(math.Ceil(e.Seconds/max(perElement, 1))))
	if elements == 1 {
		return coreHours(e) + ", in about 1 element of a job array"
	}
	return fmt.Sprintf("%s, in about %d elements of job arrays", coreHours(e), elements)
}

// place is where the units of a plan run.
type place struct {
	dag.Executor
	jobs   bool // some of them in jobs, which go on whatever happens to others
	beside bool // jobs of an earlier run write in the folder already
}

// placeOf is where the units of the plan run.
func (s *session) placeOf(ctx context.Context, o *opened, drain <-chan struct{}, plan *dag.Plan) (place, error) {
	here := place{Executor: executor.Local{Workers: o.Workers}}
	client := slurm.New(s.slurmCommand)
	live := s.idle(ctx, client, o.Out)
	if !o.inJobs() {
		return here, live
	}
	settings, err := s.jobSettings(o, client, drain)
	if err != nil {
		return place{}, err
	}
	var stages []string
	for _, stage := range plan.Stages {
		if _, jobs := settings.Stages[stage.Stage.Name]; jobs && len(stage.Run) > 0 {
			stages = append(stages, stage.Stage.Name)
		}
	}
	if len(stages) == 0 {
		here.beside = live != nil
		return here, nil
	}
	if err := slurm.Installed(exec.LookPath); err != nil {
		return place{}, &usageError{err}
	}
	jobs, err := executor.Attach(ctx, settings)
	if err != nil {
		return place{}, err
	}
	for _, stage := range stages {
		if err := jobs.Check(ctx, stage); err != nil {
			return place{}, &usageError{err}
		}
	}
	if n := jobs.Live(); n > 0 {
		s.say("jobs of an earlier run are at work on %s: they are not submitted again", units(n))
	}
	isHere := func(stage string) bool { _, jobs := settings.Stages[stage]; return !jobs }
	return place{executor.Routed{Here: here.Executor, Elsewhere: jobs, IsHere: isHere}, true, jobs.Live() > 0}, nil
}

// idle is an error if jobs of an earlier run write in the output folder.
func (s *session) idle(ctx context.Context, client *slurm.Client, out string) error {
	folder := filepath.Join(out, dag.JobsDir)
	if _, err := os.Stat(folder); err != nil || slurm.Installed(exec.LookPath) != nil {
		return nil
	}
	return executor.Idle(ctx, client, folder)
}

// elsewhere are the units of an output folder that wait or run in Slurm jobs, or
// have failed there.
func (s *session) elsewhere(out string) ([]unitStanding, error) {
	if s.pipeline.elsewhere != nil {
		return s.pipeline.elsewhere(out)
	}
	var client *slurm.Client // nil: Slurm is not asked
	if slurm.Installed(exec.LookPath) == nil {
		client = slurm.New(s.slurmCommand)
	}
	ctx, stop := s.interruptible()
	defer stop()
	far, err := executor.Standings(ctx, client, filepath.Join(out, dag.JobsDir))
	if err != nil {
		return nil, err
	}
	states := map[string]string{runlog.Queued: unitQueued, runlog.Started: unitRunning, runlog.Failed: unitFailed}
	all := make([]unitStanding, 0, len(far))
	for _, u := range far {
		all = append(all, unitStanding{
			Unit: u.Unit, State: states[u.State], Key: u.Key, Time: u.Time, Host: u.Node, Job: u.Job, Error: u.Error, Log: u.Log,
		})
	}
	return all, nil
}

// jobSettings are those of the Slurm executor.
func (s *session) jobSettings(o *opened, client *slurm.Client, drain <-chan struct{}) (executor.Settings, error) {
	program, err := os.Executable()
	if err != nil {
		return executor.Settings{}, fmt.Errorf("find the program for the jobs: %w", err)
	}
	build, err := buildOf(program)
	if err != nil {
		return executor.Settings{}, err
	}
	directory, err := os.Getwd()
	if err != nil {
		return executor.Settings{}, err
	}
	out, err := filepath.Abs(o.Out)
	if err != nil {
		return executor.Settings{}, err
	}
	file, err := filepath.Abs(s.config)
	if err != nil {
		return executor.Settings{}, err
	}
	words := []string{program, "--config", file, "--out", out}
	for _, set := range s.sets {
		words = append(words, "--set", set)
	}
	seconds := func(x float64) time.Duration { return time.Duration(x * float64(time.Second)) }
	e := o.Executor
	return executor.Settings{
		Client: client, Folder: filepath.Join(out, dag.JobsDir), Directory: directory, Program: words, Build: build, Process: s.pid,
		Stages: jobStages(e, o.Servers), ArraySize: e.ArraySize, Throttle: e.Throttle, Retries: e.Retries,
		Element: seconds(60 * e.ElementMinutes), Poll: seconds(e.PollSeconds), Settle: seconds(e.SettleSeconds), Grace: grace,
		Clock: clock.Wall{}, Drain: drain, Report: s.report, Now: s.now,
	}, nil
}

// jobStages are the resources of the stages that run in jobs. Servers are the
// stages whose units start servers: one unit at a time on a node.
func jobStages(e config.Executor, servers map[string]bool) map[string]executor.Resources {
	stages := make(map[string]executor.Resources)
	for name, r := range e.Stages {
		if r.Where != config.WhereJobs {
			continue
		}
		resources := executor.Resources{
			Partition: cmp.Or(r.Partition, e.Partition), Account: cmp.Or(r.Account, e.Account), QOS: cmp.Or(r.QOS, e.QOS),
			CPUs: r.CPUs, MemoryMiB: r.MemoryMiB, Minutes: r.Minutes, Arguments: r.Arguments, Workers: r.CPUs,
		}
		if servers[name] {
			resources.GPUs, resources.Exclusive, resources.Workers = r.GPUs, r.Exclusive, 1
		}
		stages[name] = resources
	}
	return stages
}

// slurmPatience is how long a command of Slurm may take.
const slurmPatience = time.Minute

// slurmCommand runs a program of Slurm.
func (s *session) slurmCommand(ctx context.Context, program string, arguments ...string) (string, error) {
	ctx, stop := context.WithTimeout(ctx, slurmPatience)
	defer stop()
	c := exec.CommandContext(ctx, program, arguments...)
	var stdout, stderr bytes.Buffer
	c.Env, c.Stdout, c.Stderr = s.environment, &stdout, &stderr
	if err := c.Run(); err != nil {
		if text := strings.TrimSpace(stderr.String()); text != "" {
			return "", fmt.Errorf("%s: %w: %s", program, err, text)
		}
		return "", fmt.Errorf("%s: %w", program, err)
	}
	return stdout.String(), nil
}

// buildOf is the digest of a program: nodes must have the very same.
func buildOf(program string) (string, error) {
	file, err := os.Open(program)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", fmt.Errorf("read the program: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
