package experiment

import (
	"context"

	"speceval/internal/clock"
	"speceval/internal/serving"
	"speceval/internal/vllm"
	"speceval/pipeline/config"
	"speceval/pipeline/dag"
	"speceval/stages/generate"
)

// generateSettings are those of the generate stage.
func generateSettings(cfg *config.Config, servers *serving.Servers, tasks []TaskFile) (generate.Settings, error) {
	s := generate.Settings{
		Seed: cfg.Experiment.Seed, Rollouts: cfg.Corpus.RolloutsPerTask,
		Config: cfg.Slice("experiment.seed", "corpus.rollouts_per_task", "serving.version",
			"sampling.temperature", "sampling.top_p", "sampling.top_k", "sampling.max_tokens"),
		Clock: clock.Wall{}, OnLoss: OnLoss(cfg),
	}
	costs, err := publishedCosts()
	if err != nil {
		return s, err
	}
	models := make(map[string]serving.Model)
	for _, m := range cfg.Models {
		served := ServedModel(cfg, m)
		served.Requires.Continues = s.OnLoss != vllm.AskAgain
		models[m.ID] = served
		s.Models = append(s.Models, generate.Model{
			ID: m.ID, Sampling: Sampling(cfg, m), Config: ModelText(m),
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
		return Replicas{lease}, nil
	}
	for _, b := range tasks {
		s.Benchmarks = append(s.Benchmarks, generate.Benchmark{ID: b.ID, Tasks: b.Tasks, Source: b.Prompts()})
	}
	return s, nil
}
