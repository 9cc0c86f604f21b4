package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"speceval/data"
	"speceval/internal/fleet/checkpoint"
	"speceval/internal/fleet/virtual"
	"speceval/internal/machine/clock"
	"speceval/internal/machine/process"
	"speceval/internal/policy/seed"
	"speceval/internal/servers/flops"
	"speceval/internal/servers/launcher"
	"speceval/internal/servers/pool"
	"speceval/internal/servers/vllm"
	"speceval/internal/store/profile"
	"speceval/internal/store/rollout"
	"speceval/method/controller"
	"speceval/pipeline/config"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
	"speceval/stages/systems"
)

// systemsStage returns the systems stage for the pairs to evaluate.
func (e *Experiment) systemsStage() (stage dag.Stage, err error) {
	cfg, r := e.config, &e.Reports
	w := calibration()
	var unknown []string
	models := map[string]config.Model{}
	for _, m := range cfg.Models {
		models[m.ID] = m
	}
	for _, p := range r.Pairs {
		if !w.Knows(p.Benchmark, p.Model) {
			unknown = append(unknown, p.Name())
		}
	}
	onServers := cfg.Systems.Engine == config.EngineVLLM
	if !onServers && len(unknown) == len(r.Pairs) {
		return systems.Satisfied(`the simulated fleet was calibrated for other profiles; set systems.engine = "vllm" to measure these`), nil
	}
	s := systems.Settings{
		Seed: cfg.Experiment.Seed, Budgets: cfg.Experiment.Budgets, QuadratureOrder: cfg.Replay.QuadratureOrder, Pairs: r.Pairs,
		AsPublished: cfg.Systems.Protocol == config.ProtocolPublished, Simulated: simulatedFleet(cfg),
		Releases: releases(), ReleasesSource: dag.Source{Name: data.ProfileSHA256Name, SHA256: digest(data.ProfileSHA256())},
		Architectures: slices.Concat(ownArchitectures(cfg.Models), architectures()), Slice: cfg.Slice,
	}
	s.Sampling = func(model string) map[string]string { // for the identities of rollouts
		asked := cfg.Asked()
		if m, listed := models[model]; listed {
			asked["model"] = ModelText(m)
		}
		return asked
	}
	if len(unknown) > 0 {
		e.Notes["systems"] = append(e.Notes["systems"], fmt.Sprintf("the simulated fleet was not calibrated for %s: simulated runs leave them out", strings.Join(unknown, ", ")))
	}
	if onServers {
		if s.Measured, err = e.measuredRuns(unknown); err != nil {
			return stage, err
		}
	}
	r.Systems, r.Staged = true, len(unknown) < len(r.Pairs)
	r.Live.Timed, r.Live.Predicted = onServers, onServers
	r.Live.Scored = slices.ContainsFunc(cfg.Systems.ScoredRepeats, func(n int) bool { return n > 0 })
	return systems.Stage(s)
}

// ownArchitectures are the architectures of the configuration's own models.
func ownArchitectures(models []config.Model) (own []flops.Architecture) {
	for _, m := range models {
		if m.ThetaCore > 0 {
			own = append(own, flops.Architecture{
				Model: m.ID, ThetaCore: int64(m.ThetaCore), ThetaHead: int64(m.ThetaHead),
				FullAttentionLayers: int64(m.FullAttentionLayers), AttentionWidth: int64(m.AttentionWidth),
			})
		}
	}
	return own
}

// Of our own router, in the simulated fleet: BENCHMARKS.md has what they really
// are, which is less.
const (
	ownHandling    = 10 * time.Microsecond  // of a completion
	ownComputation = 100 * time.Microsecond // of a provisional allocation
)

// simulatedFleet is the calibrated fleet, with our own router or, by the
// protocol of the configuration, with the published one.
func simulatedFleet(cfg *config.Config) *systems.Simulated {
	w := calibration()
	return &systems.Simulated{
		Repeats: cmp.Or(cfg.Systems.Repeats, 8), // which cost next to nothing
		Source:  calibrationSource(),
		Knows:   func(p pair.Pair) bool { return w.Knows(p.Benchmark, p.Model) },
		Worker: func(p profile.Profile, budget int, lengths seed.Seed) (virtual.Settings, error) {
			model, law, err := w.Law(p)
			if err != nil {
				return virtual.Settings{}, err
			}
			v := virtual.Settings{
				Timing: model.Timing, Replicas: cfg.Systems.Replicas, Window: cfg.Systems.Window, MaxSequences: model.MaxSequences,
				Lengths: law.Sampler(lengths), Handling: ownHandling, Computation: ownComputation,
			}
			if cfg.Systems.Protocol == config.ProtocolPublished {
				v.Handling, v.Computation = model.HandlingOf(p.N(), budget), model.Computation
			}
			return v, nil
		},
	}
}

// measuredRuns are runs on the servers of workers; the length model does not know some pairs. They
// begin after the profiles of all rollouts are there, so that servers for sampling, which may hold
// the same devices, can be ended first.
func (e *Experiment) measuredRuns(unknown []string) (*systems.Measured, error) {
	cfg := e.config
	m := &systems.Measured{
		Repeats: cfg.Systems.MeasuredRepeats, Replicas: cfg.Systems.Replicas, Window: cfg.Systems.Window, Clock: clock.Wall{}, Cores: runtime.NumCPU(),
		CPU:    func() time.Duration { return time.Duration(process.Used().CPUSeconds * float64(time.Second)) },
		Return: time.Duration(cfg.Serving.OutageSeconds) * time.Second,
		Tasks:  map[string]systems.Tasks{}, Models: map[string]vllm.Sampling{}, MaxSequences: map[string]int{},
	}
	if len(m.Repeats) == 0 {
		m.Repeats = slices.Repeat([]int{1}, len(cfg.Experiment.Budgets))
	}
	m.Expect = func(p pair.Pair, budget int) []dag.Quantity {
		return expectedSuite(p.Name(), budget, m.Repeats[slices.Index(cfg.Experiment.Budgets, budget)])
	}
	all, absent, err := readTasks(cfg)
	if cfg.Systems.Lengths == config.LengthsDrawn { // where there is no task file, prompts are made
		m.Drawn, absent = drawnLengths(cfg), nil
		if len(unknown) > 0 {
			return nil, fmt.Errorf(`systems.lengths = "drawn": the length model knows the published profiles alone, not %s; leave them out, or set lengths = "natural"`, strings.Join(unknown, ", "))
		}
		if without := len(cfg.Benchmarks) - len(all); without > 0 {
			e.Notes["systems"] = append(e.Notes["systems"], fmt.Sprintf("%d of %d benchmarks have no task file in %s: their prompts are made, of the length model's tokens", without, len(cfg.Benchmarks), cfg.Corpus.Tasks))
		}
	}
	if err = errors.Join(err, absent); err != nil {
		return nil, err
	}
	for _, b := range all {
		m.Tasks[b.ID] = systems.Tasks{Tasks: b.Tasks, Source: b.Prompts()}
	}
	var faults []error
	served, dummy := map[string]pool.Model{}, slices.ContainsFunc(cfg.Workers, func(w config.Worker) bool { return w.Weights == config.WeightsDummy })
	for _, model := range cfg.Models {
		served[model.ID] = ServedModel(cfg, model)
		m.Models[model.ID], m.MaxSequences[model.ID] = Sampling(cfg, model), model.MaxSequences
		if dummy && !checkpoint.IsFolder(model.Path) {
			_, err := shapeOf(model.ID)
			faults = append(faults, err)
		}
	}
	for _, p := range e.Reports.Pairs {
		_, asked := m.Tasks[p.Benchmark]
		if _, known := m.Models[p.Model]; !known || !asked && m.Drawn == nil {
			faults = append(faults, fmt.Errorf("profile %s: list its benchmark and its model in the configuration, to run it on servers", p.Name()))
		}
	}
	workers, judges := pool.NewWorkers(servingSettings(cfg, e.outside)), Judges(cfg, e.outside)
	vacate := Experiment{close: e.close}
	e.close = append(slices.Clone(e.close), workers.Close, judges.Close)
	if len(cfg.Systems.ScoredRepeats) > 0 {
		if m.Scored, err = scoredRuns(cfg, e.outside, judges, all); err != nil {
			return nil, err
		}
	}
	m.Acquire = func(ctx context.Context, model string) (systems.Lease, error) {
		if err := vacate.Close(ctx); err != nil {
			return systems.Lease{}, err
		}
		lease, err := workers.Acquire(ctx, served[model])
		if err != nil {
			return systems.Lease{}, err
		}
		return systems.Lease{
			Pool: lease.Pool, Release: lease.Release,
			Simulated: strings.Contains(strings.Join(lease.Versions(), " "), "simulated"),
		}, nil
	}
	return m, errors.Join(faults...)
}

// scoredRuns are timed runs under real rewards, by the scorers of the score
// stage.
func scoredRuns(cfg *config.Config, o Outside, judges *pool.Servers, tasks []TaskFile) (*systems.Scored, error) {
	scoring, _, err := ScoreSettings(cfg, o, judges, tasks)
	if err != nil {
		return nil, err
	}
	s := &systems.Scored{
		Repeats: cfg.Systems.ScoredRepeats,
		Rules:   func(p pair.Pair) map[string]string { return scoring.Rules(p.Benchmark, p.Model) },
		Answers: make(map[string]dag.Source),
	}
	for _, b := range scoring.Benchmarks {
		if err := b.PassFail(); err != nil {
			return nil, err
		}
		s.Answers[b.ID] = b.Answers
	}
	s.Scorer = func(ctx context.Context, p pair.Pair) (systems.Scorer, error) {
		open, err := scoring.Open(ctx, p.Benchmark, p.Model)
		if err != nil {
			return systems.Scorer{}, err
		}
		score := func(ctx context.Context, task int, c vllm.Completion) (bool, error) {
			scored, err := open.Score(ctx, &rollout.Response{TaskIndex: int32(task), Text: c.Text, FinishReason: c.Finish})
			return err == nil && scored.Correct, err
		}
		return systems.Scorer{Score: score, Release: open.Release}, nil
	}
	return s, nil
}

// drawnLengths are the lengths of prompts and answers in timed runs, by the length model.
func drawnLengths(cfg *config.Config) *systems.Drawn {
	thinking := map[string]checkpoint.Thinking{}
	for _, m := range cfg.Models {
		enabled := Sampling(cfg, m).TemplateArguments["enable_thinking"] // of chats
		thinking[m.ID] = map[any]checkpoint.Thinking{true: checkpoint.On, false: checkpoint.Off, nil: checkpoint.None}[enabled]
	}
	return &systems.Drawn{
		Source: calibrationSource(),
		Prompt: func(model string, task, tokens int) string { return checkpoint.Filler(tokens, task, thinking[model]) },
		Lengths: func(p profile.Profile, branch seed.Seed) (systems.Lengths, error) {
			_, law, err := calibration().Law(p)
			if err != nil {
				return nil, err
			}
			draw := law.Sampler(branch)
			return func(id controller.ID) (prompt, tokens int) {
				prompt, tokens = draw(id)
				return prompt, min(tokens, cfg.Sampling.MaxTokens)
			}, nil
		},
	}
}

// weightless makes what a launched server loads for a model without its weights:
// the folder that its path names, or one in the shape of its checkpoint, in the output folder.
func weightless(out string) func(pool.Model) (launcher.Model, error) {
	return func(m pool.Model) (launcher.Model, error) {
		load := m.Launch
		if !checkpoint.IsFolder(load.Path) {
			shape, err := shapeOf(m.ID)
			if err != nil {
				return load, err
			}
			load.Path = filepath.Join(out, "models", m.ID)
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
