package experiment

import (
	"bytes"
	"os"
	"os/exec"
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
	c := profileStages{pairs: pair.AllKnown([]profile.Profile{known}), generate: dag.Stage{Name: "generate", Units: []dag.Unit{{ID: "quiz/m", Outputs: []string{"part"}}}}}
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

func TestTheTeXEngineIsLookedForWhereAPDFIsWanted(t *testing.T) {
	none := func(string) (string, error) { return "", exec.ErrNotFound }
	cfg, out := config.Default(), t.TempDir()
	engine, notes := texEngine(cfg, out, none, nil)
	if engine != nil || len(notes) != 1 || !strings.Contains(notes[0], "report.tex is written without report.pdf") || !strings.Contains(notes[0], "apt-get install") ||
		!strings.Contains(notes[0], "cd "+out) || strings.Contains(notes[0], "earlier") {
		t.Errorf("without a TeX: engine %v, notes %q", engine, notes)
	}
	said := filepath.Join(t.TempDir(), "pdflatex")
	if err := os.WriteFile(said, []byte("#!/bin/sh\necho 'pdfTeX of a test'\necho more\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	there := func(string) (string, error) { return said, nil }
	if engine, notes := texEngine(cfg, out, there, os.Environ()); engine == nil || engine.Version != "pdfTeX of a test" || len(notes) != 0 {
		t.Errorf("with a TeX: engine %v, notes %q", engine, notes)
	}
	cfg.Report.PDF = config.PDFNever
	if engine, notes := texEngine(cfg, out, there, os.Environ()); engine != nil || len(notes) != 0 {
		t.Errorf("where no PDF is wanted: engine %v, notes %q", engine, notes)
	}
	if err := os.WriteFile(filepath.Join(out, pdfFile), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, pdf := range []string{config.PDFNever, config.PDFAuto} {
		cfg.Report.PDF = pdf
		if _, notes := texEngine(cfg, out, none, nil); len(notes) != 1 || !strings.Contains(notes[0], "the report.pdf in "+out+" is of an earlier run") {
			t.Errorf("%s, beside an old one: notes %q", pdf, notes)
		}
	}
}

func TestTheReportShowsNoFolderAndNoServer(t *testing.T) {
	cfg, err := config.Parse([]byte("[experiment]\nout = \"/here\"\n[corpus]\ntasks = \"/mine\"\n[judge]\nurls = [\"http://secret:1\"]\n"+
		"[[worker]]\nname = \"w\"\nurls = [\"http://secret:2\"]\n[executor]\nworkers = 3\n"), "x.toml", nil)
	if err != nil {
		t.Fatal(err)
	}
	shown := shownConfiguration(cfg)
	for key, value := range shown {
		for _, private := range []string{"/here", "/mine", "secret"} {
			if strings.Contains(value, private) {
				t.Errorf("%s = %s is shown", key, value)
			}
		}
	}
	if shown["replay.draws"] != "8192" || shown["executor.workers"] != "" {
		t.Errorf("shown are %v", shown)
	}
}

// TestSecondGenerations reads a file that is not there, then one of the experiment's
// profile, of another model, and of no profiles.
func TestSecondGenerations(t *testing.T) {
	p := profile.Profile{Benchmark: "primer", Model: "small", Scorer: "maths/1", TaskIDs: []string{"a", "b"}, PassCounts: []int{1, 3}, TestedK: 4}
	names := map[string]bool{p.Name(): true}
	path := filepath.Join(t.TempDir(), "profiles.parquet")
	none, err := readSecond(path, names)
	if err != nil || len(none.Profiles) != 0 || none.Path != path {
		t.Fatalf("a file that is not there: %+v, %v", none, err)
	}
	store := func(content []byte) {
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	encoded := func(p profile.Profile) []byte {
		var b bytes.Buffer
		if err := profile.Write(&b, []profile.Profile{p}, nil); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	store(encoded(p))
	there, err := readSecond(path, names)
	if err != nil || len(there.Profiles) != 1 || there.Source == none.Source {
		t.Errorf("a file that is there: %+v, %v", there, err)
	}
	p.Model = "large"
	store(encoded(p))
	if _, err := readSecond(path, names); err == nil || !strings.Contains(err.Error(), "primer__model=large") || !strings.Contains(err.Error(), path) {
		t.Errorf("another model: error %v", err)
	}
	store([]byte("no profiles"))
	if _, err := readSecond(path, names); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("no profiles: error %v", err)
	}
}
