package experiment

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"speceval/internal/clock"
	"speceval/internal/servers/launcher"
	"speceval/internal/servers/pool"
	"speceval/internal/servers/serving"
	"speceval/internal/servers/vllm"
	"speceval/pipeline/config"
	"speceval/pipeline/dag"
	"speceval/pipeline/slurm"
	"speceval/stages/generate"
)

// Servers are the workers of the experiment.
func Servers(cfg *config.Config, o Outside) *serving.Servers {
	return serving.New(servingSettings(cfg, o))
}

func servingSettings(cfg *config.Config, o Outside) serving.Settings {
	s := serving.Settings{
		Window:      cfg.Systems.Window,
		Attempts:    cfg.Serving.Attempts,
		Hang:        time.Duration(cfg.Serving.HangSeconds) * time.Second,
		Outage:      time.Duration(cfg.Serving.OutageSeconds) * time.Second,
		Start:       time.Duration(cfg.Serving.StartSeconds) * time.Second,
		Environment: withoutKeys(o.Environment, cfg),
		Logs:        cmp.Or(o.Logs, filepath.Join(o.Out, dag.LogsDir)),
		Clock:       clock.Wall{},
		Memory:      availableMemory,
		Report:      o.Report,
	}
	oneHost := onOneHost(cfg.Workers)
	for _, w := range cfg.Workers {
		worker := serving.Worker{Name: w.Name, URLs: w.URLs}
		setWorkerKey(&worker, w, oneHost, o.Environment)
		if w.Launch != "" {
			worker.Recipe = &launcher.Recipe{
				Command: w.Launch, Arguments: w.Arguments, Environment: w.Environment,
				Port: w.Port, Replicas: cfg.Systems.Replicas, GPUs: visibleGPUs(o.Environment), MemoryGiB: w.MemoryGiB,
			}
			if w.Weights == config.WeightsDummy {
				worker.Prepare = weightless(o.Out)
			}
		}
		s.Workers = append(s.Workers, worker)
	}
	return s
}

// Continues reports whether answers that are lost under way are to go on: they come in pieces.
func Continues(cfg *config.Config) bool {
	return vllm.OnLoss(cfg.Serving.OnLoss) != vllm.AskAgain && vllm.FieldsNamed(cfg.Sampling.LeaveOut)&vllm.LeaveStream == 0
}

// visibleGPUs are the GPUs that CUDA_VISIBLE_DEVICES leaves this process, as in a
// Slurm job; nil where it says nothing.
func visibleGPUs(environment []string) []string {
	for _, v := range environment {
		if list, found := strings.CutPrefix(v, "CUDA_VISIBLE_DEVICES="); found && list != "" {
			return strings.Split(list, ",")
		}
	}
	return nil
}

// availableMemory is how many bytes new processes can have here.
func availableMemory() (int64, error) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	return launcher.AvailableMemory(string(text))
}

// ServedModel is a model of the experiment as servers must have it.
func ServedModel(cfg *config.Config, m config.Model) serving.Model {
	return serving.Model{
		ID: m.ID,
		Launch: launcher.Model{
			Path: m.Path, Served: m.Served, MaxSequences: m.MaxSequences,
			ContextTokens: cfg.Sampling.ContextTokens, ReasoningParser: m.ReasoningParser, ThinkingBudget: m.ThinkingBudget > 0,
		},
		Requires: pool.Requirement{
			Model: m.Served, ContextTokens: cfg.Sampling.ContextTokens, Version: cfg.Serving.Version,
			Sampling: Sampling(cfg, m),
		},
	}
}

// templateArguments are the arguments of the chat template. Only a model that can
// think has one, whether to.
func templateArguments(m config.Model) map[string]any {
	if !m.Thinking && m.ReasoningParser == "" {
		return nil
	}
	return map[string]any{"enable_thinking": m.Thinking}
}

// Sampling is how a model of the experiment is asked.
func Sampling(cfg *config.Config, m config.Model) vllm.Sampling {
	return vllm.Sampling{
		Model: m.Served, Temperature: cfg.Sampling.Temperature, TopP: cfg.Sampling.TopP, TopK: cfg.Sampling.TopK,
		MaxTokens: cfg.Sampling.MaxTokens, LeaveOut: vllm.FieldsNamed(cfg.Sampling.LeaveOut), TemplateArguments: templateArguments(m), ThinkingBudget: m.ThinkingBudget,
	}
}

// ModelText is the part of a model's configuration that its rollouts depend on.
func ModelText(m config.Model) string {
	text, _ := json.Marshal([]any{m.ID, m.Path, m.Thinking, m.ThinkingBudget, m.ReasoningParser}) // cannot fail
	return string(text)
}

var _ generate.Servers = (*serving.Lease)(nil)

// grace is the time after an interrupt in which another one cancels the jobs.
const grace = 10 * time.Second

// Answer is how long a command that submits, polls or cancels jobs may take.
func (e *Experiment) Answer() time.Duration {
	return time.Duration(e.Executor.AnswerSeconds * float64(time.Second))
}

// Jobs completes the settings of jobs, which come with Run, Process, Drain, Report and Now,
// by what the configuration and the environment's variables say; nil where all units run on
// this machine.
func (e *Experiment) Jobs(s slurm.Settings, variable func(string) string) (*slurm.Settings, error) {
	if !e.Executor.InJobs() {
		return nil, nil
	}
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program for the jobs: %w", err)
	}
	if s.Build, err = slurm.BuildOf(program); err != nil {
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
	if x.Kind == config.ExecutorCommand {
		s.Templates = slurm.Templates{Submit: x.Submit, Status: x.Status, Cancel: x.Cancel}
	}
	for name, r := range s.Stages {
		r.Clusters = slurm.Clusters(r.Arguments, variable)
		s.Stages[name] = r
	}
	s.ArraySize, s.Throttle, s.Retries = x.ArraySize, x.Throttle, x.Retries
	s.Element, s.Poll, s.Settle = seconds(60*x.ElementMinutes), seconds(x.PollSeconds), seconds(x.SettleSeconds)
	return &s, nil
}

// jobStages are the resources of the stages that run in jobs. One whose units
// start servers runs one unit at a time on a node.
func (e *Experiment) jobStages() map[string]slurm.Resources {
	stages := make(map[string]slurm.Resources)
	x := e.Executor
	for name, r := range x.Stages {
		if r.Where != config.WhereJobs {
			continue
		}
		resources := slurm.Resources{
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
	if !e.Executor.InJobs() {
		return nil
	}
	seconds := make(map[string]float64)
	for name, r := range e.jobStages() {
		seconds[name] = 60 * e.Executor.ElementMinutes * float64(max(1, r.Workers))
	}
	return seconds
}
