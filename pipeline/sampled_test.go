package main

import (
	"path/filepath"
	"strconv"
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
func fleetExperiment(t *testing.T) string {
	t.Helper()
	var urls []string
	for i, model := range []string{"direct", "thinker", "direct"} {
		urls = append(urls, strconv.Quote(serves(t, imitation.Settings{
			Model: model, MaxModelLen: 4096, Thinking: model == "thinker", ReasoningParser: map[string]string{"thinker": "qwen3"}[model], Index: i, Seed: 1,
		}, fleet.AuthorSettings{Model: "m", Tasks: tasksIn("../data/smallbench/smallbench.jsonl")})))
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
	return filepath.Join(filesIn(t, map[string]string{"experiments.toml": text}), "experiments.toml")
}

// tasksIn reads a task file with the shipped prompts.
func tasksIn(path string) []benchmark.Task {
	return must(benchmark.Reader{Prompts: must(benchmark.ParsePrompts(data.Prompts()))}.Read(path))
}

// serves starts a server of a model and returns its address.
func serves(t *testing.T, s imitation.Settings, author fleet.AuthorSettings) (url string) {
	t.Helper()
	s.Author = fleet.MustAuthor(author)
	r := imitation.New(s)
	t.Cleanup(r.Close)
	ok(t, r.Listen("127.0.0.1:0"))
	return r.URL()
}

// sample runs the command line on an experiment of its own.
func sample(t *testing.T, config, out string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return ran(nil, append(args, "--config", config, "--out", out)...)
}

func TestTheSmallBenchmarkIsSampledOverHTTP(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	at := " --config " + fleetExperiment(t) + " --out " + out
	runs := func(line string) string { return said(t, exitDone, words(line+at)...) }
	want(t, "plan", runs("plan"), "generate  2 of 2 units to run", "360 requests, 216,000 tokens of answers at most")
	runs("run generate")
	for _, model := range []string{"direct", "thinker"} {
		rows, _, err := rowfile.ReadFile[rollout.Rollout](filepath.Join(out, "generate", "benchmark=smallbench", "model="+model, "part-0000.parquet"))
		ok(t, err)
		if len(rows) != 180 {
			t.Fatalf("%d rollouts of %s", len(rows), model)
		}
		for i, r := range rows {
			if r.TaskIndex != int32(i/3) || r.Rollout != int32(i%3) || r.Model != model || r.Server == "" || r.CompletionTokens == 0 {
				t.Fatalf("row %d of %s: %+v", i, model, r)
			}
			if thinks := r.ReasoningTokens != nil && *r.ReasoningTokens > 0; thinks != (model == "thinker") || thinks && *r.ReasoningTokens > 100 {
				t.Errorf("row %d of %s: the tokens of its thinking are none, or over the budget", i, model)
			}
		}
	}
	want(t, "manifest", read(filepath.Join(out, "manifests", "generate", "smallbench", "direct.json")), `"provenance": "simulated"`)
	want(t, "status", runs("status"), "generate  fresh")

	// Nothing that a rollout does not depend on makes it stale, and all else does.
	for set, n := range map[string]string{"systems.window=4": "nothing to run", "serving.attempts=2": "nothing to run",
		"sampling.top_p=0.9": "2 of 2 units to run", "experiment.seed=7": "2 of 2 units to run", "corpus.rollouts_per_task=4": "2 of 2 units to run"} {
		want(t, "plan --set "+set, runs("plan --set "+set), n)
	}
}

func TestWhatStandsInTheWayOfSampling(t *testing.T) {
	config, out := fleetExperiment(t), filepath.Join(t.TempDir(), "out")
	tasks := filesIn(t, map[string]string{"smallbench.jsonl": "{\"task_id\":\"a\"}\n"})
	on := func(words ...string) (int, string, string) { return sample(t, config, out, words...) }
	outcomes(t, on, []outcome{
		{words("run generate --set serving.version=0.24.0"), exitFailed, "0.24.0"},
		{words("run generate --set sampling.context_tokens=5000"), exitFailed, "5000"},
		{words("run generate --set corpus.tasks=nowhere --set corpus.source=published"), exitUsage, "no profile"},
		{words("plan --set corpus.tasks=" + tasks), exitUsage, "smallbench.jsonl: line 1: prompt: is missing"},
	})
	outcomes(t, onShell, []outcome{{words("plan --set corpus.source=vllm"), exitUsage, "no task files tasks/aime24.jsonl, "}})
}

func TestTheSmallExperimentIsShippedForTheFleet(t *testing.T) {
	plan := said(t, exitDone, words("plan --config ../experiments-small.toml --out "+t.TempDir())...)
	want(t, "plan", plan, "generate  2 of 2 units to run", "3,840 requests",
		"score     3 of 3 units to run", "3,840 responses, 768 questions to the judge, 832 programs", "systems   14 of 14 units to run")
}
