package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"speceval/data"
	"speceval/drills/lab"
	"speceval/internal/checkpoint"
	"speceval/internal/fleet"
	"speceval/internal/measurement"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/seed"
)

// The trial of answers of the model's lengths. The model is one of the paper's by name, for
// its FLOP coefficients, and the dense model without weights in fact.
const (
	timedModel  = "qwen2_5_3b"
	timedTokens = 150
	watchEvery  = 100 * time.Millisecond
	timedWarmUp = 2 * 64 // tokens of the servers before the runs of a setting
)

var timedBudgets = []int{8, 16}

// onTwoServers is the worker of the trials.
var onTwoServers = shape{replicas: 2, window: sequences, origin: measurement.Measured}

// timed has the program time every strategy on two servers that it launches itself, and
// holds the files to what they must be.
func (o *realVLLM) timed(ctx context.Context) error {
	p := quiz("quiz", timedModel)
	var settings []setting
	for _, budget := range timedBudgets {
		settings = append(settings, setting{profile: p, digest: p.SHA256(), seed: masterSeed, budget: budget})
	}
	if err := writeInputs(o.Lab, p); err != nil {
		return err
	}
	t, err := newTrial(o.Lab, "out", lab.Settings{
		"experiment": lab.Settings{"budgets": timedBudgets},
		"corpus":     lab.Settings{"profiles": o.Path(profilesFile), "tasks": o.Path(tasksFolder)},
		"model":      []lab.Settings{{"id": timedModel, "path": o.model("dense").Path, "served": "dense", "max_sequences": sequences}},
		"benchmark":  []lab.Settings{{"id": "quiz"}},
		"sampling":   lab.Settings{"max_tokens": timedTokens, "context_tokens": contextTokens},
		"replay":     replayPrecision(1024),
		"systems":    lab.Settings{"engine": "vllm", "replicas": 2, "window": sequences, "repeats": 1},
		"worker":     []lab.Settings{o.worker(o.recipe("dense", 0).Arguments)},
		"serving":    serving,
	})
	if err != nil {
		return err
	}
	o.Printf("4 strategies at 2 budgets on two real servers that speceval launches")
	if err := t.allocate(ctx, settings); err != nil {
		return err
	}
	watch, err := startWatch([]string{urlOn(firstPort), urlOn(firstPort + 1)}, watchEvery)
	if err != nil {
		return err
	}
	begin := time.Now()
	_, err = t.do(ctx, "run", "systems", "report")
	samples := watch.end()
	if err != nil {
		return err
	}
	if len(samples) == 0 {
		return fmt.Errorf("no server was seen")
	}
	o.Printf("done after %.0f s; the servers were up after %.0f s", time.Since(begin).Seconds(), samples[0].at.Sub(begin).Seconds())
	if err := freed(ctx); err != nil {
		return err
	}
	return t.checkTimed(settings, samples)
}

// checkTimed prints what was measured, and a line for every check.
func (t *trial) checkTimed(settings []setting, samples []sample) error {
	measured, err := readRuns(t.out, measurement.Measured, settings, false)
	if err != nil {
		return err
	}
	virtual, err := readRuns(t.out, measurement.Simulated, settings, true)
	if err != nil {
		return err
	}
	if err := runTable(t.Stdout, measured); err != nil {
		return err
	}
	if err := predictedTimes(t.Stdout, t.out); err != nil {
		return err
	}
	gone, runs, err := surplusGone(measured, samples)
	if err != nil {
		return err
	}
	t.Printf("in %d runs with aborted requests, servers were seen without them %.2f s after the allocation at the latest; %d samples, one in %v", runs, gone.Seconds(), len(samples), watchEvery)
	checks := append(runChecks(measured, onTwoServers),
		lab.Check{What: "HBN-async speculated, and some of its surplus was aborted", Fault: speculated(measured, true)},
		lab.Check{What: "servers made no more tokens than the files have", Fault: tokens(t.Stdout, measured, nil, tokensMade(samples), timedWarmUp, false)},
		lab.Check{What: "Tables 2 and 3 have the runs", Fault: inTables(t.out, measurement.Measured, timedBudgets)},
	)
	if len(virtual) == len(measured) {
		checks = append(checks, lab.Check{What: "the virtual clock selects the same rollouts, with the same rewards", Fault: sameSelection(measured, virtual)})
	}
	return lab.Report(t.Stdout, checks)
}

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

// drawn has the program time the strategies on models without weights, with answers of
// drawn lengths and prompts that it makes. Without a cut of improbable tokens a CPU need
// not sort its vocabulary for each.
func (o *realVLLM) drawn(ctx context.Context) error {
	arguments := o.recipe(kinds[0], 0).Arguments
	at := slices.Index(arguments, "--load-format") // weights = "dummy" brings it
	worker := o.worker(slices.Delete(arguments, at, at+2))
	worker["weights"] = "dummy"
	models := []lab.Settings{
		{"id": small[0].Model, "path": o.Path(small[0].Model), "max_sequences": sequences},
		{"id": small[1].Model, "path": o.Path(small[1].Model), "max_sequences": sequences, "thinking": true, "thinking_budget": drawnThinking, "reasoning_parser": "qwen3"},
	}
	a, b := quiz(drawnBenchmark, small[0].Model), quiz(drawnBenchmark, small[1].Model)
	settings := []setting{{profile: a, digest: a.SHA256(), seed: masterSeed, budget: drawnBudget}, {profile: b, digest: b.SHA256(), seed: masterSeed, budget: drawnBudget}}
	for _, shape := range small {
		if err := checkpoint.Write(o.Path(shape.Model), shape); err != nil {
			return err
		}
	}
	if err := lab.WriteProfiles(o.Path(profilesFile), []profile.Profile{a, b}); err != nil {
		return err
	}
	t, err := newTrial(o.Lab, "out", lab.Settings{
		"experiment": lab.Settings{"budgets": []int{drawnBudget}},
		"corpus":     lab.Settings{"profiles": o.Path(profilesFile)},
		"model":      models,
		"benchmark":  []lab.Settings{{"id": drawnBenchmark}},
		"sampling":   lab.Settings{"top_p": 1.0, "max_tokens": drawnTokens, "context_tokens": contextTokens},
		"replay":     replayPrecision(1024),
		"systems":    lab.Settings{"engine": "vllm", "lengths": "drawn", "replicas": 2, "window": sequences},
		"worker":     []lab.Settings{worker},
		"serving":    serving,
	})
	if err != nil {
		return err
	}
	o.Printf("4 strategies with drawn lengths on two real servers of each of two models without weights")
	begin := time.Now()
	for _, words := range [][]string{{"run", "replay"}, {"run", "systems", "report"}, {"status", "--check"}} {
		if _, err := t.do(ctx, words...); err != nil {
			return err
		}
	}
	if err := t.allocate(ctx, settings); err != nil {
		return err
	}
	o.Printf("done after %.0f s", time.Since(begin).Seconds())
	if err := freed(ctx); err != nil {
		return err
	}
	return t.checkDrawn(settings)
}

// checkDrawn prints a line for every check.
func (t *trial) checkDrawn(settings []setting) error {
	measured, err := readRuns(t.out, measurement.Measured, settings, false)
	if err != nil {
		return err
	}
	if err := runTable(t.Stdout, measured); err != nil {
		return err
	}
	w, err := fleet.ParseWorkload(data.FleetModels(), data.FleetLengths())
	if err != nil {
		return err
	}
	table, err := os.ReadFile(filepath.Join(t.out, "tables", "table3_time.tex"))
	if err != nil {
		return err
	}
	var unsaid error
	if !strings.Contains(string(table), "lengths of answers drawn") {
		unsaid = errors.New("the one of times does not")
	}
	return lab.Report(t.Stdout, append(runChecks(measured, onTwoServers),
		lab.Check{What: "every answer has the length that is drawn for its rollout, and every prompt the length model's", Fault: t.asDrawn(w, measured)},
		lab.Check{What: "Tables 2 and 3 have the runs", Fault: inTables(t.out, measurement.Measured, []int{drawnBudget})},
		lab.Check{What: "the tables say that lengths were drawn", Fault: unsaid},
	))
}

// asDrawn compares answers with the length model, whatever the strategy.
func (t *trial) asDrawn(w *fleet.Workload, all []*results) error {
	for _, r := range all {
		_, law, err := w.Law(r.profile)
		if err != nil {
			return err
		}
		branch := seed.Root(r.seed).Child("systems").Child(r.profile.Benchmark).Child(r.profile.Model).Child("lengths").Index(r.budget)
		completed, lengths := 0, make(map[int32]bool)
		for _, one := range r.runs {
			draw := law.Sampler(branch)
			if one.Strategy == policy.UniformEquivalent.Name {
				draw = law.Sampler(branch.Child(one.Strategy))
			}
			for _, q := range r.of(one) {
				if q.AbortedTokens != nil {
					continue
				}
				prompt, tokens := draw(r.id(q))
				if want := min(tokens, drawnTokens); int(q.CompletionTokens) != want || int(q.PromptTokens) != prompt {
					return fmt.Errorf("%s, %s: %s has %d tokens after %d, want %d after %d", r.name(), one.Strategy, q.ID, q.CompletionTokens, q.PromptTokens, want, prompt)
				}
				completed++
				lengths[q.CompletionTokens] = true
			}
		}
		t.Printf("%s: %d answers of %d different lengths", r.name(), completed, len(lengths))
		if len(lengths) < 2 { // most answers of a model that thinks are cut
			return fmt.Errorf("%s: all answers have the same length", r.name())
		}
	}
	return nil
}
