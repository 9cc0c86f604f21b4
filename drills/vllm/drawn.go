package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"speceval/data"
	process "speceval/drills/lab"
	"speceval/drills/timed"
	"speceval/internal/checkpoint"
	"speceval/internal/fleet/workload"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/method/controller"
)

// small are both architectures at a size that two cores can serve, with the whole
// vocabulary of the paper's checkpoints. In the experiment they have names of
// models whose answers the length model makes short.
var small = []checkpoint.Shape{
	{
		Model: "qwen2_5_3b", Hidden: 64, Inner: 128, Layers: 2, Heads: 2, KeyValueHeads: 2, HeadWidth: 32,
		Vocabulary: 151936, Tied: true, Context: contextTokens,
	},
	{
		Model: "qwen2_5_7b", Hidden: 256, Inner: 256, Layers: 4, Heads: 2, KeyValueHeads: 1, HeadWidth: 128,
		LinearKeyHeads: 2, LinearValueHeads: 4, Vocabulary: 248320, Tied: true, Context: contextTokens,
	},
}

// The experiment of drawn lengths. Long answers are cut, and the thinking of the
// model that thinks has a budget that is shorter than most answers.
const (
	drawnBenchmark = "math_100"
	drawnBudget    = 8
	drawnTokens    = 160
	drawnThinking  = 16
)

// drawn has the program time the strategies on models without weights, with
// answers of drawn lengths and prompts that it makes.
func drawn(ctx context.Context, o options, dir string, stdout io.Writer) error {
	t := &trial{options: o, dir: dir}
	var profiles []profile.Profile
	for _, shape := range small {
		if err := checkpoint.Write(t.path(shape.Model), shape); err != nil {
			return err
		}
		p := quiz(drawnBenchmark, shape.Model)
		profiles = append(profiles, p)
		t.settings = append(t.settings, timed.Setting{Profile: p, Digest: p.SHA256(), Seed: 42, Budget: drawnBudget})
	}
	if err := timed.WriteInputs(dir, profiles); err != nil {
		return err
	}
	if err := os.RemoveAll(t.path(timed.TasksFolder)); err != nil { // prompts are to be made
		return err
	}
	if err := os.WriteFile(t.path("experiments.toml"), []byte(t.drawnConfiguration()), 0o666); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "4 strategies with drawn lengths on two real servers of each of two models without weights\n")
	begin := time.Now()
	if err := t.runDrawn(ctx); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "done after %.0f s\n", time.Since(begin).Seconds())
	return t.checkDrawn(ctx, stdout)
}

// quiz is a profile of a few tasks.
func quiz(benchmark, model string) profile.Profile {
	return profile.Profile{
		Benchmark: benchmark, Model: model, TestedK: 64,
		TaskIDs:    []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"},
		PassCounts: []int{0, 64, 32, 3, 60, 0, 64, 20, 45, 1, 64, 0},
	}
}

// drawnConfiguration is the experiment. Without a cut of improbable tokens a CPU
// need not sort its vocabulary for each.
func (t *trial) drawnConfiguration() string {
	var unloaded []string // what weights = "dummy" brings
	for words := recipe(t.options, kinds[0], 0).Arguments; len(words) > 0; words = words[1:] {
		if words[0] == "--load-format" {
			words = words[1:]
			continue
		}
		unloaded = append(unloaded, words[0])
	}
	return fmt.Sprintf(`[experiment]
budgets = [%d]

[corpus]
profiles = %q

[[model]]
id = %q
path = %q
max_sequences = %d

[[model]]
id = %q
path = %q
max_sequences = %d
thinking = true
thinking_budget = %d
reasoning_parser = "qwen3"

[[benchmark]]
id = %q

[sampling]
top_p = 1.0
max_tokens = %d
context_tokens = %d

[replay]
draws = 1024
replicates = 2
quadrature_order = 8

[systems]
engine = "vllm"
lengths = "drawn"
replicas = 2
window = %d

%sweights = "dummy"

[serving]
start_seconds = %d
`, drawnBudget, t.path(timed.ProfilesFile), small[0].Model, t.path(small[0].Model), sequences,
		small[1].Model, t.path(small[1].Model), sequences, drawnThinking, drawnBenchmark, drawnTokens, contextTokens, sequences,
		worker(t.options, unloaded), int(startLimit.Seconds()))
}

// runDrawn runs everything, and has the program say that nothing is left to do.
func (t *trial) runDrawn(ctx context.Context) error {
	for _, words := range [][]string{{"run", "replay"}, {"run", "systems", "report"}, {"status", "--check"}} {
		if _, err := t.speceval(ctx, strings.Join(words, "-"), words...); err != nil {
			return err
		}
	}
	text, err := t.speceval(ctx, "allocations", "allocations")
	if err != nil {
		return err
	}
	return timed.ReadAllocations(text, t.settings)
}

// checkDrawn prints a line for every check.
func (t *trial) checkDrawn(ctx context.Context, stdout io.Writer) error {
	measured, err := timed.ReadAll(t.path("out"), timed.Measured, t.settings, false)
	if err != nil {
		return err
	}
	if err := timed.Table(stdout, measured); err != nil {
		return err
	}
	w, err := workload.Parse(data.FleetModels(), data.FleetLengths())
	if err != nil {
		return err
	}
	table, err := os.ReadFile(filepath.Join(t.path("out"), "tables", "table3_time.tex"))
	if err != nil {
		return err
	}
	var untold error
	if !strings.Contains(string(table), "lengths of answers drawn") {
		untold = fmt.Errorf("it is not said in Table 3")
	}
	checks := timed.Checks(measured, timed.Shape{Replicas: 2, Window: sequences, Repeats: 1, Provenance: timed.Measured})
	checks = append(checks,
		timed.Check{What: "every answer has the length that is drawn for its rollout, and every prompt the length model's", Fault: asDrawn(stdout, w, measured)},
		timed.Check{What: "Tables 2 and 3 have the runs", Fault: timed.Tables(t.path("out"), timed.Measured, []int{drawnBudget})},
		timed.Check{What: "the tables say that lengths were drawn", Fault: untold},
	)
	for port := range 2 {
		if err := process.PortFreed(ctx, firstPort+port); err != nil {
			return err
		}
	}
	return timed.Print(stdout, checks)
}

// asDrawn compares answers with the length model, whatever the strategy.
func asDrawn(stdout io.Writer, w *workload.Workload, all []*timed.Results) error {
	for _, r := range all {
		_, law, err := w.Law(r.Profile)
		if err != nil {
			return err
		}
		branch := seed.Root(r.Seed).Child("systems").Child(r.Profile.Benchmark).Child(r.Profile.Model).Child("lengths").Index(r.Budget)
		completed, lengths := 0, make(map[int32]bool)
		for _, run := range r.Runs {
			draw := law.Sampler(branch)
			if run.Strategy == policy.UniformEquivalent.Name {
				draw = law.Sampler(branch.Child(run.Strategy))
			}
			for _, q := range r.Requests(run) {
				if q.AbortedTokens != nil {
					continue
				}
				id := controller.ID{Task: int32(slices.Index(r.Profile.TaskIDs, q.Task)), Ordinal: q.Ordinal}
				if q.Phase == controller.Continuation.String() {
					id.Phase = controller.Continuation
				}
				prompt, tokens := draw(id)
				if want := min(tokens, drawnTokens); int(q.CompletionTokens) != want || int(q.PromptTokens) != prompt {
					return fmt.Errorf("%s, %s: %s has %d tokens after %d, want %d after %d", r.Name(), run.Strategy, q.ID, q.CompletionTokens, q.PromptTokens, want, prompt)
				}
				completed++
				lengths[q.CompletionTokens] = true
			}
		}
		fmt.Fprintf(stdout, "%s: %d answers of %d different lengths\n", r.Name(), completed, len(lengths))
		if len(lengths) < 2 { // most answers of a model that thinks are cut
			return fmt.Errorf("%s: all answers have the same length", r.Name())
		}
	}
	return nil
}
