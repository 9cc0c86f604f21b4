package main

import (
	"context"
	"slices"

	"speceval/internal/clock"
	"speceval/internal/serving"
	"speceval/pipeline/config"
	"speceval/pipeline/dag"
	"speceval/stages/generate"
)

// generateSettings are those of the generate stage.
func generateSettings(cfg *config.Config, servers *serving.Servers, tasks []taskFile) (generate.Settings, error) {
	s := generate.Settings{
		Seed: cfg.Experiment.Seed, Rollouts: cfg.Corpus.RolloutsPerTask,
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
			ID: m.ID, Sampling: sampling(cfg, m), Config: modelText(m),
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
	for _, b := range tasks {
		s.Benchmarks = append(s.Benchmarks, generate.Benchmark{ID: b.id, Tasks: b.tasks, Source: b.prompts()})
	}
	return s, nil
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
