package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"time"

	"speceval/data"
	"speceval/internal/clock"
	"speceval/internal/flops"
	"speceval/internal/launcher"
	"speceval/internal/measurement"
	"speceval/internal/pool"
	"speceval/internal/serving"
	"speceval/pipeline/config"
	"speceval/pipeline/dag"
	"speceval/stages/generate"
)

// servers are the workers of the experiment.
func servers(cfg *config.Config, o outside) *serving.Servers {
	s := serving.Settings{
		Window:      cfg.Systems.Window,
		Attempts:    cfg.Serving.Attempts,
		Hang:        time.Duration(cfg.Serving.HangSeconds) * time.Second,
		Outage:      time.Duration(cfg.Serving.OutageSeconds) * time.Second,
		Start:       time.Duration(cfg.Serving.StartSeconds) * time.Second,
		Key:         o.key,
		KeyFrom:     "the environment variable " + keyVariable,
		Environment: o.environment,
		Logs:        filepath.Join(o.out, dag.LogsDir),
		Clock:       clock.Wall{},
		Report:      o.report,
	}
	for _, w := range cfg.Workers {
		worker := serving.Worker{Name: w.Name, URLs: w.URLs}
		if w.Launch != "" {
			worker.Recipe = &launcher.Recipe{
				Command: w.Launch, Arguments: w.Arguments, Environment: w.Environment,
				Port: w.Port, Replicas: cfg.Systems.Replicas,
			}
		}
		s.Workers = append(s.Workers, worker)
	}
	return serving.New(s)
}

// servedModel is what servers must be for a model of the experiment.
func servedModel(cfg *config.Config, m config.Model) serving.Model {
	return serving.Model{
		ID: m.ID,
		Launch: launcher.Model{
			Path: m.Path, Served: m.Served, MaxSequences: m.MaxSequences,
			ContextTokens: cfg.Sampling.ContextTokens, ReasoningParser: m.ReasoningParser, ThinkingBudget: m.ThinkingBudget > 0,
		},
		Requires: pool.Requirement{
			Model: m.Served, ContextTokens: cfg.Sampling.ContextTokens, Version: cfg.Serving.Version,
			ThinkingBudget: m.ThinkingBudget > 0, TemplateArguments: templateArguments(m),
		},
	}
}

// templateArguments are what the chat template is told. Only a model that can
// think has to be told whether to.
func templateArguments(m config.Model) map[string]any {
	if !m.Thinking && m.ReasoningParser == "" {
		return nil
	}
	return map[string]any{"enable_thinking": m.Thinking}
}

// generateSettings are those of the generate stage.
func generateSettings(cfg *config.Config, servers *serving.Servers) (generate.Settings, error) {
	s := generate.Settings{
		Seed: cfg.Experiment.Seed, Rollouts: cfg.Corpus.RolloutsPerTask,
		Temperature: cfg.Sampling.Temperature, TopP: cfg.Sampling.TopP, TopK: cfg.Sampling.TopK, MaxTokens: cfg.Sampling.MaxTokens,
		Config: cfg.Slice("experiment.seed", "corpus.rollouts_per_task", "serving.version",
			"sampling.temperature", "sampling.top_p", "sampling.top_k", "sampling.max_tokens"),
		Clock: clock.Wall{},
	}
	costs, err := publishedCosts()
	if err != nil {
		return s, err
	}
	models := make(map[string]serving.Model)
	for _, m := range cfg.Models {
		models[m.ID] = servedModel(cfg, m)
		s.Models = append(s.Models, generate.Model{
			ID: m.ID, Served: m.Served, TemplateArguments: templateArguments(m), ThinkingBudget: m.ThinkingBudget,
			Config: modelText(m),
			Expect: func(benchmark string, requests int) []dag.Quantity {
				return costs.expect(benchmark, m.ID, requests, cfg.Sampling.MaxTokens)
			},
		})
	}
	s.Servers = func(ctx context.Context, model string) (generate.Servers, error) {
		lease, err := servers.Acquire(ctx, models[model])
		if err != nil {
			return nil, err
		}
		return replicas{lease}, nil
	}
	s.Benchmarks, err = benchmarks(cfg)
	return s, err
}

// modelText is the part of a model's configuration that its rollouts depend on.
func modelText(m config.Model) string {
	text, _ := json.Marshal([]any{m.ID, m.Path, m.Thinking, m.ThinkingBudget, m.ReasoningParser}) // cannot fail
	return string(text)
}

// replicas are a lease as the generate stage sees it.
type replicas struct{ *serving.Lease }

var _ generate.Servers = replicas{}

// Places count those of replicas that are out for a while, too.
func (r replicas) Places() int { return r.Lease.Places }

// Versions are those of vLLM, and of the simulated fleet.
func (r replicas) Versions() []string {
	var all []string
	for _, s := range r.Served {
		all = append(all, s.Version)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ThinkEnd is the same on all replicas: they serve one model.
func (r replicas) ThinkEnd() int32 { return r.Served[0].ThinkEnd }

// cost is what a rollout took in the published timing runs, on eight H20 GPUs.
type cost struct{ tokens, gpuHours float64 }

type costs map[[2]string]cost // by benchmark and model

// publishedCosts derives costs from the longest run of each benchmark and
// model under Uniform.
func publishedCosts() (costs, error) {
	runs, err := measurement.Parse(data.Measurements(), data.MeasurementsName)
	if err != nil {
		return nil, err
	}
	architectures, err := flops.Parse(data.Architectures(), data.ArchitecturesName)
	if err != nil {
		return nil, err
	}
	const gpus, secondsPerHour = 8, 3600
	longest := make(map[[2]string]int)
	all := make(costs)
	for _, run := range runs {
		at := slices.IndexFunc(architectures, func(a flops.Architecture) bool { return a.Model == run.Model })
		key, n := [2]string{run.Benchmark, run.Model}, int(run.AcceptedRollouts)
		if run.Strategy != measurement.Uniform || at < 0 || n <= longest[key] {
			continue
		}
		longest[key] = n
		all[key] = cost{
			tokens:   tokensOf(architectures[at], run.UsefulFLOPs/float64(n)),
			gpuHours: run.TimeSeconds * gpus / secondsPerHour / float64(n),
		}
	}
	return all, nil
}

// tokensOf inverts the FLOP proxy: tokens of prompt and answer, all counted as
// if they were the answer's. Where prompts are the most of it that is too few,
// by θ_head/(θ_core + θ_head), 15% at most (paper, Table 7).
func tokensOf(a flops.Architecture, work float64) float64 {
	low, high := 0, 1<<20
	for low < high {
		if mid := (low + high) / 2; a.Request(0, mid) < work {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return float64(low)
}

// expect is what so many requests take.
func (c costs) expect(benchmark, model string, requests, maxTokens int) []dag.Quantity {
	n := float64(requests)
	known, ok := c[[2]string{benchmark, model}]
	if !ok {
		return []dag.Quantity{{Name: "requests", Amount: n}, {Name: "tokens at most of what no published run covers", Amount: n * float64(maxTokens)}}
	}
	return []dag.Quantity{
		{Name: "requests", Amount: n}, {Name: "tokens of prompts and answers", Amount: n * known.tokens},
		{Name: "GPU-hours as in the published runs on H20", Amount: n * known.gpuHours},
	}
}
