package main

import (
	"context"

	"speceval/internal/serving"
	"speceval/internal/vllm"
	"speceval/pipeline/config"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
	"speceval/stages/systems"
)

// scoredRuns are timed runs under real rewards, by the scorers of the score
// stage.
func scoredRuns(cfg *config.Config, tasks []taskFile, judges *serving.Servers) (*systems.Scored, error) {
	scoring, _, err := scoreSettings(cfg, judges, tasks)
	if err != nil {
		return nil, err
	}
	s := &systems.Scored{
		Repeats: cfg.Systems.ScoredRepeats,
		Rules:   func(p pair.Pair) map[string]string { return scoring.Rules(p.Benchmark, p.Model) },
		Answers: make(map[string]dag.Source),
	}
	for _, b := range scoring.Benchmarks {
		s.Answers[b.ID] = b.Answers
	}
	s.Scorer = func(ctx context.Context, p pair.Pair) (systems.Scorer, error) {
		open, err := scoring.Open(ctx, p.Benchmark, p.Model)
		if err != nil {
			return systems.Scorer{}, err
		}
		score := func(ctx context.Context, task int, c vllm.Completion) (bool, error) {
			v, err := open.Score(ctx, task, c.Text, c.Finish)
			return v.Correct, err
		}
		return systems.Scorer{Score: score, Release: open.Release}, nil
	}
	return s, nil
}
