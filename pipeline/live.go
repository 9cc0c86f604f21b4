package main

import (
	"fmt"
	"slices"

	"speceval/pipeline/config"
	"speceval/pipeline/dag"
	"speceval/stages/report"
)

// liveResults is what the experiment measures of its own, by the units that its
// stages have.
func liveResults(cfg *config.Config, c corpus, runs dag.Stage) (report.Live, error) {
	onServers := cfg.Systems.Engine == config.EngineVLLM
	live := report.Live{
		Timed:     onServers && hasUnit(runs, "runs"),
		Predicted: onServers && hasUnit(runs, "predictions"),
		Scored:    slices.Max(append(slices.Clone(cfg.Systems.ScoredRepeats), 0)) > 0 && hasUnit(runs, "runs"),
		Rollouts:  map[string]report.Rollouts{},
	}
	for _, stage := range c.stages {
		for _, p := range c.pairs {
			id := p.Benchmark + "/" + p.Model
			if i := slices.IndexFunc(stage.Units, func(u dag.Unit) bool { return u.ID == id }); i >= 0 && stage.Name == "generate" {
				live.Rollouts[p.Name()] = report.Rollouts{By: dag.Ref{Stage: stage.Name, Unit: id}, Files: stage.Units[i].Outputs}
			}
		}
	}
	if cfg.Report.Second == "" {
		return live, nil
	}
	names := map[string]bool{}
	for _, p := range c.pairs {
		names[p.Name()] = true
	}
	var err error
	if live.Second, err = report.ReadSecond(cfg.Report.Second, names); err != nil {
		return live, fmt.Errorf("report.second: %w", err)
	}
	return live, nil
}

func hasUnit(s dag.Stage, id string) bool {
	return slices.ContainsFunc(s.Units, func(u dag.Unit) bool { return u.ID == id })
}
