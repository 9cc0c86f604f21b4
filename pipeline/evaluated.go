package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"speceval/data"
	"speceval/internal/clock"
	"speceval/internal/evaluation"
	"speceval/internal/rollout"
	"speceval/internal/sampler"
	"speceval/internal/seed"
	"speceval/internal/serving"
	"speceval/method/neyman"
	"speceval/pipeline/config"
	"speceval/pipeline/experiment"
	"speceval/stages/score"
)

// evaluated is what the flags of evaluate name.
type evaluated struct {
	cfg   *config.Config // with this benchmark, this model and these workers alone
	out   string
	tasks experiment.TaskFile
	model config.Model // none where only a benchmark is wanted
	prior *neyman.Prior
}

// evaluationConfig reads the configuration. Where none is named and none is there
// it is the defaults: an evaluation needs no experiment.
func (s *session) evaluationConfig() (*config.Config, error) {
	cfg, err := config.Load(s.config, s.sets)
	if _, there := os.Stat(s.config); s.config == defaultConfig && errors.Is(there, fs.ErrNotExist) {
		cfg, err = config.Parse(nil, "the defaults", s.sets)
	}
	if err != nil {
		return nil, &usageError{err}
	}
	c := *cfg
	if s.out != "" {
		c.Experiment.Out = s.out
	}
	if len(s.evaluate.workers) > 0 {
		c.Workers = []config.Worker{{Name: "worker", URLs: s.evaluate.workers}}
	}
	return &c, nil
}

// evaluated reads what is to be evaluated.
func (s *session) evaluated(needsModel bool) (*evaluated, error) {
	cfg, err := s.evaluationConfig()
	if err != nil {
		return nil, err
	}
	e := &evaluated{cfg: cfg, out: cfg.Experiment.Out}
	if s.evaluate.benchmark == "" {
		return nil, usagef("name a benchmark with --benchmark: an id of the configuration, one of %s, or a task file", strings.Join(data.BuiltInNames(), ", "))
	}
	if e.tasks, err = s.evaluatedTasks(cfg); err != nil {
		return nil, &usageError{err}
	}
	if needsModel {
		if s.evaluate.model == "" {
			return nil, usagef("name a model with --model: an id of the configuration, or the name that servers give it")
		}
		e.model = evaluatedModel(cfg, s.evaluate.model)
		cfg.Models = []config.Model{e.model}
	}
	e.prior, err = neyman.NewPrior(cfg.Replay.QuadratureOrder)
	return e, err
}

// evaluatedTasks reads the tasks of the benchmark that is named.
func (s *session) evaluatedTasks(cfg *config.Config) (experiment.TaskFile, error) {
	name := s.evaluate.benchmark
	b := config.Benchmark{ID: name}
	if i := slices.IndexFunc(cfg.Benchmarks, func(b config.Benchmark) bool { return b.ID == name }); i >= 0 {
		b = cfg.Benchmarks[i]
	} else if isTaskFile(name) {
		file := filepath.Base(name)
		b = config.Benchmark{ID: strings.TrimSuffix(file, filepath.Ext(file)), Tasks: name}
	}
	read, err := experiment.ReadTasks(cfg, b)
	if errors.Is(err, fs.ErrNotExist) {
		return read, fmt.Errorf("%w; name a task file with --benchmark, or one of those that are built in: %s", err, strings.Join(data.BuiltInNames(), ", "))
	}
	return read, err
}

// isTaskFile tells a path from the id of a benchmark.
func isTaskFile(name string) bool {
	switch filepath.Ext(name) {
	case ".jsonl", ".csv":
		return true
	}
	info, err := os.Stat(name)
	return err == nil && !info.IsDir()
}

// evaluatedModel is the model of a name: of the configuration, or one that servers
// have under that name and that answers without thinking apart.
func evaluatedModel(cfg *config.Config, name string) config.Model {
	for _, m := range cfg.Models {
		if m.ID == name {
			return m
		}
	}
	for _, m := range cfg.Models {
		if m.Served == name {
			return m
		}
	}
	return config.Model{ID: name, Title: name, Path: name, Served: name, MaxSequences: cfg.Systems.Window}
}

// seed is that of the flags, or the experiment's.
func (e *evaluated) seed(o *evaluateOptions) uint64 {
	if o.seed != nil {
		return *o.seed
	}
	return e.cfg.Experiment.Seed
}

// setup is the evaluation of a policy at a budget, still without a design.
func (e *evaluated) setup(o *evaluateOptions, policy string, budget int) evaluation.Setup {
	setup := evaluation.Setup{
		Benchmark: e.tasks.ID, Model: e.model.ID, Policy: policy, Budget: budget, Seed: e.seed(o),
		Asked: e.cfg.Slice("sampling.temperature", "sampling.top_p", "sampling.top_k", "sampling.max_tokens"),
	}
	for _, t := range e.tasks.Tasks {
		setup.TaskIDs = append(setup.TaskIDs, t.ID)
	}
	setup.Asked["prompts"] = e.tasks.Prompts().SHA256
	setup.Asked["model"] = experiment.ModelText(e.model)
	return setup
}

// scoring is how answers are scored.
type scoring struct {
	*score.Settings
	rules string
}

// scorers are those of the benchmark's tasks, by the rules of the score stage.
func (e *evaluated) scorers(judges *serving.Servers) (scoring, error) {
	settings, _, err := experiment.ScoreSettings(e.cfg, judges, []experiment.TaskFile{e.tasks})
	if err != nil {
		return scoring{}, err
	}
	rules := settings.Rules(e.tasks.ID, e.model.ID)
	text := []byte(settings.Benchmarks[0].Answers.SHA256)
	for _, key := range slices.Sorted(maps.Keys(rules)) {
		text = fmt.Appendf(text, "\n%s=%s", key, rules[key])
	}
	digest := sha256.Sum256(text)
	return scoring{&settings, hex.EncodeToString(digest[:])}, nil
}

// scoreOne scores an answer by opened scorers.
func (e *evaluated) scoreOne(open *score.Scorers) func(context.Context, *rollout.Response) (*rollout.Score, error) {
	return func(ctx context.Context, r *rollout.Response) (*rollout.Score, error) {
		v, err := open.Score(ctx, int(r.TaskIndex), r.Text, r.FinishReason)
		if err != nil {
			return nil, err
		}
		return &rollout.Score{
			Benchmark: e.tasks.ID, Model: e.model.ID, TaskIndex: r.TaskIndex, TaskID: e.tasks.Tasks[r.TaskIndex].ID, Rollout: r.Rollout,
			Correct: v.Correct, Answer: strings.Clone(v.Answer), Note: strings.Clone(v.Note), Scorer: open.Version(int(r.TaskIndex)),
		}, nil
	}
}

// settings are those of an evaluation, but for its servers.
func (e *evaluated) settings(setup evaluation.Setup, open *score.Scorers, rules, commit string) evaluation.Settings {
	return evaluation.Settings{
		Setup: setup, Folder: setup.Path(e.out), Prior: e.prior, Score: e.scoreOne(open), Rules: rules,
		Corpus: sampler.Corpus{
			Benchmark: e.tasks.ID, Model: e.model.ID, Tasks: e.tasks.Tasks, Sampling: experiment.Sampling(e.cfg, e.model),
			Seed: seed.Root(setup.Seed).Child("evaluate").Child(e.tasks.ID).Child(e.model.ID),
		},
		Clock: clock.Wall{}, Footer: map[string]string{"speceval.commit": commit},
	}
}
