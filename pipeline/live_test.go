package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speceval/data"
	"speceval/internal/profile"
	"speceval/pipeline/config"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// TestLiveResultsAreThoseOfTheStages has a systems stage on servers with and
// without predictions, rollouts of one profile, and second generations.
func TestLiveResultsAreThoseOfTheStages(t *testing.T) {
	known := profile.Profile{Benchmark: "quiz", Model: "m", TaskIDs: []string{"a", "b"}, PassCounts: []int{1, 2}, TestedK: 4}
	c := corpus{pairs: pair.AllKnown([]profile.Profile{known}), stages: []dag.Stage{{Name: "generate", Units: []dag.Unit{{ID: "quiz/m", Outputs: []string{"part"}}}}}}
	runs := dag.Stage{Name: "systems", Units: []dag.Unit{{ID: "runs"}}}
	cfg := config.Default()
	if live, err := liveResults(cfg, c, runs); err != nil || live.Timed || live.Scored || live.Second != nil || len(live.Rollouts[known.Name()].Files) != 1 {
		t.Errorf("under the virtual clock: %+v, %v", live, err)
	}
	cfg.Systems.Engine, cfg.Systems.ScoredRepeats = config.EngineVLLM, []int{60, 0, 0, 0}
	cfg.Report.Second = filepath.Join(t.TempDir(), "none.parquet")
	if live, err := liveResults(cfg, c, runs); err != nil || !live.Timed || live.Predicted || !live.Scored || live.Second == nil || len(live.Second.Profiles) != 0 {
		t.Errorf("on servers: %+v, %v", live, err)
	}
	runs.Units = append(runs.Units, dag.Unit{ID: "predictions"})
	if live, err := liveResults(cfg, c, runs); err != nil || !live.Predicted {
		t.Errorf("with predictions: %+v, %v", live, err)
	}
	cfg.Report.Second = filepath.Join(t.TempDir(), "paper.parquet")
	if err := os.WriteFile(cfg.Report.Second, data.Profiles(), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := liveResults(cfg, c, runs); err == nil || !strings.Contains(err.Error(), "report.second: ") || !strings.Contains(err.Error(), "aime24__model=") {
		t.Errorf("profiles of others: error %v", err)
	}
}
