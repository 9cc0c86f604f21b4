//go:build drill

package servers_test

import (
	"path/filepath"
	"strings"

	"speceval/data"
	"speceval/drills/drill"
	"speceval/internal/fleet"
	"speceval/internal/measurement"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/internal/servers/checkpoint"
	"speceval/internal/servers/launcher"
)

// timed has the program time every strategy on two servers that it launches itself, and
// holds the files to what any run must be.
func timed(l *drill.Lab, r launcher.Recipe, s drill.Settings, settings []setting) (*trial, []run) {
	systems := s["systems"].(drill.Settings)
	systems["engine"], systems["replicas"], systems["window"] = "vllm", 2, sequences
	s["replay"] = replayPrecision(1024)
	s = launching(r, s)
	if systems["lengths"] == "drawn" {
		s["worker"].([]drill.Settings)[0]["weights"] = "dummy"
	}
	t := newTrial(l, "out", s)
	t.do("run", "replay")
	t.do("run", "systems", "report")
	pair{l, firstPort}.freed()
	measured := readRuns(l, t.out, measurement.Measured, settings)
	handled(l, measured)
	shape{2, sequences, measurement.Measured}.checkRuns(l, settings, measured)
	inTables(l, t.out, measurement.Measured, settings)
	return t, measured
}

// modelLengths times answers of the model's lengths. The model is one of the paper's by
// name, for its FLOP coefficients, and the dense model without weights in fact.
func modelLengths(l *drill.Lab) {
	const model, budget, twice = "qwen2_5_3b", 8, 16
	p, m := quiz("quiz", model), models["dense"]
	settings := quizzed(p, budget, twice)
	writeInputs(l, p)
	_, measured := timed(l, recipe(2, m.arguments...), drill.Settings{
		"experiment": drill.Settings{"budgets": []int{budget, twice}},
		"corpus":     drill.Settings{"profiles": l.Path(profilesFile), "tasks": l.Path(tasksFolder)},
		"model":      []drill.Settings{{"id": model, "path": inVLLM(m.folder), "served": "dense", "max_sequences": sequences}},
		"benchmark":  []drill.Settings{{"id": p.Benchmark}},
		"sampling":   drill.Settings{"max_tokens": 150, "context_tokens": contextTokens},
		"systems":    drill.Settings{"repeats": 1},
	}, settings)
	l.Sub("HBN-async speculated, and some of its surplus was aborted", func(l *drill.Lab) { checkSpeculation(l, measured, true) })
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

// drawnTokens is how many tokens an answer of a drawn length has at most.
const drawnTokens = 160

// drawnLengths times answers of drawn lengths on models without weights, with prompts that
// the program makes. Long answers are cut, and the thinking of the model that thinks has a
// budget that is shorter than most answers. Without a cut of improbable tokens a CPU need
// not sort its vocabulary for each.
func drawnLengths(l *drill.Lab) {
	const benchmark, budget = "math_100", 8
	var settings []setting
	var profiles []profile.Profile
	var models []drill.Settings
	for _, shape := range small {
		p := quiz(benchmark, shape.Model)
		profiles, settings = append(profiles, p), append(settings, quizzed(p, budget)...)
		models = append(models, drill.Settings{"id": shape.Model, "path": l.Path(shape.Model), "max_sequences": sequences})
		l.OK(checkpoint.Write(l.Path(shape.Model), shape))
	}
	models[1]["thinking"], models[1]["thinking_budget"], models[1]["reasoning_parser"] = true, 16, "qwen3"
	l.WriteProfiles(l.Path(profilesFile), profiles)
	t, measured := timed(l, recipe(2), drill.Settings{
		"experiment": drill.Settings{"budgets": []int{budget}},
		"corpus":     drill.Settings{"profiles": l.Path(profilesFile)},
		"model":      models,
		"benchmark":  []drill.Settings{{"id": benchmark}},
		"sampling":   drill.Settings{"top_p": 1.0, "max_tokens": drawnTokens, "context_tokens": contextTokens},
		"systems":    drill.Settings{"lengths": "drawn"},
	}, settings)
	t.do("status", "--check")
	l.Sub("every answer has the length that is drawn for its rollout, and every prompt the length model's", func(l *drill.Lab) {
		asDrawn(l, measured)
	})
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
