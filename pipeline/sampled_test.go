package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speceval/data"
	"speceval/internal/benchmark"
	"speceval/internal/fleet"
	"speceval/internal/fleet/imitation"
	"speceval/internal/store/rollout"
	"speceval/internal/store/rowfile"
)

// fleetExperiment is a configuration of two models on the small benchmark, and
// imitated servers of both.
func fleetExperiment(t *testing.T, faults imitation.Faults) string {
	t.Helper()
	var urls []string
	for i, model := range []string{"direct", "thinker", "direct"} {
		r := imitation.New(imitation.Settings{
			Model: model, MaxModelLen: 4096, Thinking: model == "thinker", ReasoningParser: map[string]string{"thinker": "qwen3"}[model],
			Author: author(t), Faults: faults, Index: i, Seed: 1,
		})
		t.Cleanup(r.Close)
		if err := r.Listen("127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		urls = append(urls, fmt.Sprintf("%q", r.URL()))
	}
	text := `[corpus]
source = "vllm"
rollouts_per_task = 3
[[model]]
id = "direct"
[[model]]
id = "thinker"
thinking = true
thinking_budget = 100
reasoning_parser = "qwen3"
[[benchmark]]
id = "smallbench"
[sampling]
max_tokens = 600
context_tokens = 4096
[[worker]]
name = "here"
urls = [` + strings.Join(urls, ", ") + "]\n"
	path := filepath.Join(t.TempDir(), "experiments.toml")
	write(path, text)
	return path
}

func author(t *testing.T) *fleet.Author {
	t.Helper()
	prompts, err := benchmark.ParsePrompts(data.Prompts())
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := benchmark.Reader{Prompts: prompts}.Parse(data.BuiltIn("smallbench"))
	if err != nil {
		t.Fatal(err)
	}
	return fleet.MustAuthor(fleet.AuthorSettings{Model: "m", Tasks: tasks})
}

// sample runs the command line on an experiment of its own.
func sample(t *testing.T, config, out string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return ran(nil, append(args, "--config", config, "--out", out)...)
}

func corpusOf(t *testing.T, out, model string) []rollout.Rollout {
	t.Helper()
	rows, _, err := rowfile.ReadFile[rollout.Rollout](filepath.Join(out, "generate", "benchmark=smallbench", "model="+model, "part-0000.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestTheSmallBenchmarkIsSampledOverHTTP(t *testing.T) {
	config, out := fleetExperiment(t, imitation.Faults{}), filepath.Join(t.TempDir(), "out")
	_, plan, _ := sample(t, config, out, "plan")
	want(t, "plan", plan, "generate  2 of 2 units to run", "360 requests, 216,000 tokens of answers at most")
	if code, _, stderr := sample(t, config, out, "run", "generate"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	for _, model := range []string{"direct", "thinker"} {
		rows := corpusOf(t, out, model)
		if len(rows) != 180 {
			t.Fatalf("%d rollouts of %s", len(rows), model)
		}
		for i, r := range rows {
			if r.TaskIndex != int32(i/3) || r.Rollout != int32(i%3) || r.Model != model || r.Server == "" || r.CompletionTokens == 0 {
				t.Fatalf("row %d of %s: %+v", i, model, r)
			}
			if thinks := r.ReasoningTokens != nil && *r.ReasoningTokens > 0; thinks != (model == "thinker") {
				t.Errorf("row %d of %s has %v reasoning tokens", i, model, r.ReasoningTokens)
			}
			if model == "thinker" && *r.ReasoningTokens > 100 {
				t.Errorf("row %d: %d tokens of thinking, over the budget", i, *r.ReasoningTokens)
			}
		}
	}
	manifest, err := os.ReadFile(filepath.Join(out, "manifests", "generate", "smallbench", "direct.json"))
	if err != nil || !strings.Contains(string(manifest), `"provenance": "simulated"`) {
		t.Errorf("manifest %s, %v", manifest, err)
	}
	_, status, _ := sample(t, config, out, "status")
	want(t, "status", status, "generate  fresh")

	// Nothing that a rollout does not depend on makes it stale, and all else does.
	for set, n := range map[string]string{"systems.window=4": "nothing to run", "serving.attempts=2": "nothing to run",
		"sampling.top_p=0.9": "2 of 2 units to run", "experiment.seed=7": "2 of 2 units to run", "corpus.rollouts_per_task=4": "2 of 2 units to run"} {
		_, plan, _ := sample(t, config, out, "plan", "--set", set)
		want(t, "plan --set "+set, plan, n)
	}
}

// TestFaultsOfServersLeaveNoTrace asks again for what is lost: a server repeats an answer by its
// seed, and goes on with one by another seed, so that a cut within its first tokens would show.
func TestFaultsOfServersLeaveNoTrace(t *testing.T) {
	faulty, clean := filepath.Join(t.TempDir(), "faulty"), filepath.Join(t.TempDir(), "clean")
	// That twelve attempts of one of 360 requests all fail happens in 5e-8 of runs.
	faults := imitation.Faults{Error: 0.05, Cut: 0.05, Garbage: 0.05}
	if code, _, stderr := sample(t, fleetExperiment(t, faults), faulty, "run", "generate", "--set", "serving.attempts=12", "--set", "serving.on_loss=again"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	if code, _, stderr := sample(t, fleetExperiment(t, imitation.Faults{}), clean, "run", "generate"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	a, b := corpusOf(t, faulty, "direct"), corpusOf(t, clean, "direct")
	for i := range a {
		if a[i].Text != b[i].Text || a[i].Seed != b[i].Seed {
			t.Errorf("row %d: %q after faults, %q without", i, a[i].Text, b[i].Text)
		}
	}
}

func TestWhatStandsInTheWayOfSampling(t *testing.T) {
	config, out := fleetExperiment(t, imitation.Faults{}), filepath.Join(t.TempDir(), "out")
	for _, tt := range []struct {
		sets []string
		code int
		want string
	}{
		{[]string{"serving.version=0.24.0"}, 1, "0.24.0"},
		{[]string{"sampling.context_tokens=5000"}, 1, "5000"},
		{[]string{"corpus.tasks=nowhere", "corpus.source=published"}, 2, "no profile"},
	} {
		args := []string{"run", "generate"}
		for _, set := range tt.sets {
			args = append(args, "--set", set)
		}
		code, _, stderr := sample(t, config, out, args...)
		if code != tt.code || !strings.Contains(stderr, tt.want) {
			t.Errorf("%v: exit code %d\n%s", tt.sets, code, stderr)
		}
	}
	code, _, stderr := sample(t, "../experiments.toml", out, "plan", "--set", "corpus.source=vllm")
	if code != 2 || !strings.Contains(stderr, "no task files tasks/aime24.jsonl, ") {
		t.Errorf("no task files: exit code %d\n%s", code, stderr)
	}
	dir := t.TempDir()
	write(filepath.Join(dir, "smallbench.jsonl"), "{\"task_id\":\"a\"}\n")
	code, _, stderr = sample(t, config, out, "plan", "--set", "corpus.tasks="+dir)
	if code != 2 || !strings.Contains(stderr, "smallbench.jsonl: line 1: prompt: is missing") {
		t.Errorf("a bad task file: exit code %d\n%s", code, stderr)
	}
}

func TestTheSmallExperimentIsShippedForTheFleet(t *testing.T) {
	code, plan, stderr := sample(t, "../experiments-small.toml", filepath.Join(t.TempDir(), "out"), "plan")
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	want(t, "plan", plan, "generate  2 of 2 units to run", "3,840 requests",
		"score     3 of 3 units to run", "3,840 responses, 768 questions to the judge, 832 programs", "systems   14 of 14 units to run")
}
