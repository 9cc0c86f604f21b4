//go:build drill

package servers_test

import (
	"path/filepath"
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

// onTwoServers is the worker of the trials.
var onTwoServers = shape{replicas: 2, window: sequences, origin: measurement.Measured}

// The trial of answers of the model's lengths. The model is one of the paper's by name, for
// its FLOP coefficients, and the dense model without weights in fact.
const (
	timedModel  = "qwen2_5_3b"
	timedTokens = 150
	watchEvery  = 100 * time.Millisecond
	timedWarmUp = 2 * 64 // tokens of the servers before the runs of a setting
)

// modelLengths has the program time every strategy on two servers that it launches itself,
// and holds the files to what they must be.
func modelLengths(l *drill.Lab) {
	p, budgets := quiz("quiz", timedModel), []int{8, 16}
	settings := quizzed(p, budgets...)
	writeInputs(l, p)
	m := models["dense"]
	t := newTrial(l, "out", launching(recipe(2, m.arguments...), drill.Settings{
		"experiment": drill.Settings{"budgets": budgets},
		"corpus":     drill.Settings{"profiles": l.Path(profilesFile), "tasks": l.Path(tasksFolder)},
		"model":      []drill.Settings{{"id": timedModel, "path": inVLLM(m.folder), "served": "dense", "max_sequences": sequences}},
		"benchmark":  []drill.Settings{{"id": "quiz"}},
		"sampling":   drill.Settings{"max_tokens": timedTokens, "context_tokens": contextTokens},
		"replay":     replayPrecision(1024),
		"systems":    drill.Settings{"engine": "vllm", "replicas": 2, "window": sequences, "repeats": 1},
	}))
	t.allocate(settings)
	begin := time.Now()
	samples := watched(l, urlsFrom(firstPort, 2), watchEvery, func() { t.do("run", "systems", "report") })
	if len(samples) == 0 {
		l.Fatalf("no server was seen")
	}
	l.Logf("done after %.0f s; the servers were up after %.0f s", time.Since(begin).Seconds(), samples[0].at.Sub(begin).Seconds())
	pair{l, firstPort}.freed()

	measured := readRuns(l, t.out, measurement.Measured, settings)
	runTable(l, measured)
	gone, runs := surplusGone(l, measured, samples)
	l.Logf("in %d runs with aborted requests, servers were seen without them %.2f s after the allocation at the latest; %d samples, one in %v",
		runs, gone.Seconds(), len(samples), watchEvery)
	onTwoServers.checkRuns(l, settings, measured)
	l.Sub("HBN-async speculated, and some of its surplus was aborted", func(l *drill.Lab) { checkSpeculation(l, measured, true) })
	checkTokens(l, measured, nil, tokensMade(samples), len(settings)*timedWarmUp, false)
	inTables(l, t.out, measurement.Measured, budgets)
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

// drawnLengths has the program time the strategies on models without weights, with answers
// of drawn lengths and prompts that it makes. Without a cut of improbable tokens a CPU need
// not sort its vocabulary for each.
func drawnLengths(l *drill.Lab) {
	var settings []setting
	var profiles []profile.Profile
	var inExperiment []drill.Settings
	for _, shape := range small {
		p := quiz(drawnBenchmark, shape.Model)
		profiles = append(profiles, p)
		settings = append(settings, quizzed(p, drawnBudget)...)
		m := drill.Settings{"id": shape.Model, "path": l.Path(shape.Model), "max_sequences": sequences}
		if shape.LinearKeyHeads > 0 {
			m["thinking"], m["thinking_budget"], m["reasoning_parser"] = true, drawnThinking, "qwen3"
		}
		inExperiment = append(inExperiment, m)
		l.OK(checkpoint.Write(l.Path(shape.Model), shape))
	}
	l.WriteProfiles(l.Path(profilesFile), profiles)
	s := launching(recipe(2), drill.Settings{
		"experiment": drill.Settings{"budgets": []int{drawnBudget}},
		"corpus":     drill.Settings{"profiles": l.Path(profilesFile)},
		"model":      inExperiment,
		"benchmark":  []drill.Settings{{"id": drawnBenchmark}},
		"sampling":   drill.Settings{"top_p": 1.0, "max_tokens": drawnTokens, "context_tokens": contextTokens},
		"replay":     replayPrecision(1024),
		"systems":    drill.Settings{"engine": "vllm", "lengths": "drawn", "replicas": 2, "window": sequences},
	})
	s["worker"].([]drill.Settings)[0]["weights"] = "dummy"
	t := newTrial(l, "out", s)
	t.allocate(settings)
	t.do("run", "systems", "report")
	t.do("status", "--check")
	pair{l, firstPort}.freed()

	measured := readRuns(l, t.out, measurement.Measured, settings)
	runTable(l, measured)
	onTwoServers.checkRuns(l, settings, measured)
	l.Sub("every answer has the length that is drawn for its rollout, and every prompt the length model's", func(l *drill.Lab) {
		asDrawn(l, measured)
	})
	inTables(l, t.out, measurement.Measured, []int{drawnBudget})
	l.Sub("the tables say that lengths were drawn", func(l *drill.Lab) {
		if !strings.Contains(string(l.Read(filepath.Join(t.out, "tables", "table3_time.tex"))), "lengths of answers drawn") {
			l.Error("the one of times does not")
		}
	})
}

// asDrawn compares answers with the length model, whatever the strategy.
func asDrawn(l *drill.Lab, all []run) {
	w, err := fleet.ParseWorkload(data.FleetModels(), data.FleetLengths())
	l.OK(err)
	lengths := map[string]map[int32]bool{}
	for _, r := range all {
		_, law, err := w.Law(r.of.profile)
		l.OK(err)
		branch := seed.Root(masterSeed).Child("systems").Child(r.Benchmark).Child(r.Model).Child("lengths").Index(r.of.budget)
		if r.Strategy == policy.UniformEquivalent.Name {
			branch = branch.Child(r.Strategy)
		}
		draw := law.Sampler(branch)
		if lengths[r.of.name()] == nil {
			lengths[r.of.name()] = map[int32]bool{}
		}
		for _, q := range r.requests {
			if q.AbortedTokens != nil {
				continue
			}
			prompt, tokens := draw(r.id(q))
			if want := min(tokens, drawnTokens); int(q.CompletionTokens) != want || int(q.PromptTokens) != prompt {
				l.Fatalf("%s: %s has %d tokens after %d, want %d after %d", r.name(), q.ID, q.CompletionTokens, q.PromptTokens, want, prompt)
			}
			lengths[r.of.name()][q.CompletionTokens] = true
		}
	}
	for name, different := range lengths {
		l.Logf("%s: answers of %d different lengths", name, len(different))
		if len(different) < 2 { // most answers of a model that thinks are cut
			l.Errorf("%s: all answers have the same length", name)
		}
	}
}
