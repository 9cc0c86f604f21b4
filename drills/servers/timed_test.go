//go:build drill

package servers_test

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"speceval/data"
	"speceval/drills/drill"
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
func (o *realVLLM) timed() {
	p := quiz("quiz", timedModel)
	var settings []setting
	for _, budget := range timedBudgets {
		settings = append(settings, setting{profile: p, digest: p.SHA256(), seed: masterSeed, budget: budget})
	}
	writeInputs(o.Lab, p)
	t := newTrial(o.Lab, "out", drill.Settings{
		"experiment": drill.Settings{"budgets": timedBudgets},
		"corpus":     drill.Settings{"profiles": o.Path(profilesFile), "tasks": o.Path(tasksFolder)},
		"model":      []drill.Settings{{"id": timedModel, "path": o.model("dense").Path, "served": "dense", "max_sequences": sequences}},
		"benchmark":  []drill.Settings{{"id": "quiz"}},
		"sampling":   drill.Settings{"max_tokens": timedTokens, "context_tokens": contextTokens},
		"replay":     replayPrecision(1024),
		"systems":    drill.Settings{"engine": "vllm", "replicas": 2, "window": sequences, "repeats": 1},
		"worker":     []drill.Settings{o.worker(o.recipe("dense", 0).Arguments)},
		"serving":    serving,
	})
	o.Logf("4 strategies at 2 budgets on two real servers that speceval launches")
	t.allocate(settings)
	watch, err := startWatch([]string{urlOn(firstPort), urlOn(firstPort + 1)}, watchEvery)
	o.OK(err)
	begin := time.Now()
	t.do("run", "systems", "report")
	samples := watch.end()
	if len(samples) == 0 {
		o.Fatal("no server was seen")
	}
	o.Logf("done after %.0f s; the servers were up after %.0f s", time.Since(begin).Seconds(), samples[0].at.Sub(begin).Seconds())
	freed(o.Lab)
	t.checkTimed(settings, samples)
}

// checkTimed prints what was measured, and checks it.
func (t *trial) checkTimed(settings []setting, samples []sample) {
	measured := t.readRuns(measurement.Measured, settings, false)
	virtual := t.readRuns(measurement.Simulated, settings, true)
	runTable(t.Lab, measured)
	t.predictedTimes()
	gone, runs, err := surplusGone(measured, samples)
	t.OK(err)
	t.Logf("in %d runs with aborted requests, servers were seen without them %.2f s after the allocation at the latest; %d samples, one in %v",
		runs, gone.Seconds(), len(samples), watchEvery)
	onTwoServers.judge(t.Lab, measured)
	speculated(t.Lab, measured, true)
	tokens(t.Lab, measured, nil, tokensMade(samples), timedWarmUp, false)
	t.inTables(measurement.Measured, timedBudgets)
	if len(virtual) == len(measured) {
		sameSelection(t.Lab, measured, virtual)
	}
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
func (o *realVLLM) drawn() {
	arguments := o.recipe(kinds[0], 0).Arguments
	at := slices.Index(arguments, "--load-format") // weights = "dummy" brings it
	worker := o.worker(slices.Delete(arguments, at, at+2))
	worker["weights"] = "dummy"
	a, b := quiz(drawnBenchmark, small[0].Model), quiz(drawnBenchmark, small[1].Model)
	settings := []setting{{profile: a, digest: a.SHA256(), seed: masterSeed, budget: drawnBudget}, {profile: b, digest: b.SHA256(), seed: masterSeed, budget: drawnBudget}}
	for _, shape := range small {
		o.OK(checkpoint.Write(o.Path(shape.Model), shape))
	}
	o.WriteProfiles(o.Path(profilesFile), []profile.Profile{a, b})
	t := newTrial(o.Lab, "out", drill.Settings{
		"experiment": drill.Settings{"budgets": []int{drawnBudget}},
		"corpus":     drill.Settings{"profiles": o.Path(profilesFile)},
		"model": []drill.Settings{
			{"id": small[0].Model, "path": o.Path(small[0].Model), "max_sequences": sequences},
			{"id": small[1].Model, "path": o.Path(small[1].Model), "max_sequences": sequences, "thinking": true, "thinking_budget": drawnThinking, "reasoning_parser": "qwen3"},
		},
		"benchmark": []drill.Settings{{"id": drawnBenchmark}},
		"sampling":  drill.Settings{"top_p": 1.0, "max_tokens": drawnTokens, "context_tokens": contextTokens},
		"replay":    replayPrecision(1024),
		"systems":   drill.Settings{"engine": "vllm", "lengths": "drawn", "replicas": 2, "window": sequences},
		"worker":    []drill.Settings{worker},
		"serving":   serving,
	})
	o.Logf("4 strategies with drawn lengths on two real servers of each of two models without weights")
	t.do("run", "replay")
	t.do("run", "systems", "report")
	t.do("status", "--check")
	t.allocate(settings)
	freed(o.Lab)
	measured := t.readRuns(measurement.Measured, settings, false)
	runTable(t.Lab, measured)
	onTwoServers.judge(t.Lab, measured)
	t.Sub("every answer has the length that is drawn for its rollout, and every prompt the length model's", func(l *drill.Lab) { asDrawn(l, measured) })
	t.inTables(measurement.Measured, []int{drawnBudget})
	t.Sub("the tables say that lengths were drawn", func(l *drill.Lab) {
		if table := l.Read(filepath.Join(t.out, "tables", "table3_time.tex")); !strings.Contains(string(table), "lengths of answers drawn") {
			l.Error("the one of times does not")
		}
	})
}

// asDrawn compares answers with the length model, whatever the strategy.
func asDrawn(l *drill.Lab, all []*results) {
	w, err := fleet.ParseWorkload(data.FleetModels(), data.FleetLengths())
	l.OK(err)
	for _, r := range all {
		_, law, err := w.Law(r.profile)
		l.OK(err)
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
					l.Errorf("%s, %s: %s has %d tokens after %d, want %d after %d", r.name(), one.Strategy, q.ID, q.CompletionTokens, q.PromptTokens, want, prompt)
				}
				completed++
				lengths[q.CompletionTokens] = true
			}
		}
		l.Logf("%s: %d answers of %d different lengths", r.name(), completed, len(lengths))
		if len(lengths) < 2 { // most answers of a model that thinks are cut
			l.Errorf("%s: all answers have the same length", r.name())
		}
	}
}
