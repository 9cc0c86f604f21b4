package experiment

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"speceval/data"
	"speceval/internal/checkpoint"
	"speceval/internal/launcher"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/internal/serving"
	"speceval/method/controller"
	"speceval/pipeline/config"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
	"speceval/stages/systems"
)

// modelsDir is the folder of model folders without weights, in the output folder.
const modelsDir = "models"

// weightless makes what a launched server loads for a model without its weights:
// the folder that its path names, or one in the shape of its checkpoint.
func weightless(out string) func(serving.Model) (launcher.Model, error) {
	return func(m serving.Model) (launcher.Model, error) {
		load := m.Launch
		if !checkpoint.IsFolder(load.Path) {
			shape, err := shapeOf(m.ID)
			if err != nil {
				return load, err
			}
			load.Path = filepath.Join(out, modelsDir, m.ID)
			if err := checkpoint.Write(load.Path, shape); err != nil {
				return load, err
			}
		}
		var err error
		load.Flags, err = checkpoint.Flags(load.Path)
		return load, err
	}
}

func shapeOf(model string) (checkpoint.Shape, error) {
	shape, known := checkpoint.Find(model)
	if !known {
		return shape, fmt.Errorf(`model %s cannot be served with weights = "dummy": its shape is not known, as are those of %s; let its path name a folder with its config.json and tokenizer`,
			model, strings.Join(checkpoint.Known(), ", "))
	}
	return shape, nil
}

// checkShapes refuses models that launched servers would need the shapes of, where
// these are unknown.
func checkShapes(cfg *config.Config) error {
	if !slices.ContainsFunc(cfg.Workers, func(w config.Worker) bool { return w.Weights == config.WeightsDummy }) {
		return nil
	}
	var faults []error
	for _, m := range cfg.Models {
		if _, err := shapeOf(m.ID); err != nil && !checkpoint.IsFolder(m.Path) {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// drawnLengths are the lengths of prompts and answers in timed runs, nil if the
// configuration leaves them to the models.
func drawnLengths(cfg *config.Config, pairs []pair.Pair) (*systems.Drawn, error) {
	if cfg.Systems.Lengths != config.LengthsDrawn {
		return nil, nil
	}
	w, err := calibration()
	if err != nil {
		return nil, err
	}
	var unknown []string
	for _, p := range pairs {
		if !w.Knows(p.Benchmark, p.Model) {
			unknown = append(unknown, p.Name())
		}
	}
	if len(unknown) > 0 {
		return nil, fmt.Errorf(`systems.lengths = "drawn": the length model knows the published profiles alone, not %s; leave them out, or set lengths = "natural"`, strings.Join(unknown, ", "))
	}
	thinking := make(map[string]checkpoint.Thinking)
	for _, m := range cfg.Models {
		thinking[m.ID] = thinkingOf(m)
	}
	return &systems.Drawn{
		Source: dag.Source{Name: data.FleetName, SHA256: digest(data.FleetModels(), data.FleetLengths())},
		Prompt: func(model string, task, tokens int) string { return checkpoint.Filler(tokens, task, thinking[model]) },
		Lengths: func(p profile.Profile, branch seed.Seed) (systems.Lengths, error) {
			_, law, err := w.Law(p)
			if err != nil {
				return nil, err
			}
			draw := law.Sampler(branch)
			return func(id controller.ID) (prompt, tokens int) {
				prompt, tokens = draw(id)
				return prompt, min(tokens, cfg.Sampling.MaxTokens)
			}, nil
		},
	}, nil
}

// madePrompts says how many benchmarks have no tasks to ask; nothing if all have.
func madePrompts(cfg *config.Config, m *systems.Measured) []string {
	without := len(cfg.Benchmarks) - len(m.Tasks)
	if without == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d of %d benchmarks have no task file in %s: their prompts are made, of the length model's tokens", without, len(cfg.Benchmarks), cfg.Corpus.Tasks)}
}

// thinkingOf is the argument about thinking of the template of a model's chats, as
// templateArguments has it.
func thinkingOf(m config.Model) checkpoint.Thinking {
	switch {
	case m.Thinking:
		return checkpoint.On
	case m.ReasoningParser != "":
		return checkpoint.Off
	}
	return checkpoint.None
}
