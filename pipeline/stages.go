package main

import (
	"context"
	"io"
	"slices"

	"speceval/data"
	"speceval/internal/profile"
	"speceval/internal/serving"
	"speceval/pipeline/config"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
	"speceval/stages/generate"
	"speceval/stages/replay"
	"speceval/stages/report"
	"speceval/stages/score"
)

// pipeline is what the commands work on. Tests put small experiments in place
// of the shipped one.
type pipeline struct {
	// load reads the configuration, with overrides of the form key=value.
	load func(file string, sets []string, o outside) (experiment, error)
	// verify compares the results in an output folder with the paper.
	verify func(out string) (verdicts, error)
}

// outside is what of the world outside stages may use.
type outside struct {
	out         string            // output folder, in place of the configured one; "" for that
	key         string            // that servers want; "" for none
	environment []string          // for processes that are started
	report      func(text string) // shows a line while units run, from any goroutine
}

// experiment is a configuration turned into stages.
type experiment struct {
	out     string // output folder
	workers int    // units at a time; 0 = one per core
	stages  []dag.Stage
	notes   []string                        // what the user should know before a run
	close   func(ctx context.Context) error // ends what units have started; nil: nothing
}

// verdicts is the comparison of results with the paper.
type verdicts interface {
	Text(io.Writer) error
	JSON(io.Writer) error
	Passed() bool
}

// reportStage is the stage that `speceval tables` runs.
const reportStage = "report"

// shipped is the pipeline of experiments.toml.
var shipped = pipeline{load: load, verify: verify}

func load(file string, sets []string, o outside) (experiment, error) {
	cfg, err := config.Load(file, sets)
	if err != nil {
		return experiment{}, err
	}
	if o.out == "" {
		o.out = cfg.Experiment.Out
	}
	if cfg.Corpus.Source == config.SourceVLLM {
		return sampled(cfg, o)
	}
	all, err := cfg.Profiles(data.Profiles(), data.ProfilesName)
	if err != nil {
		return experiment{}, err
	}
	profiles, degenerate, err := profile.Evaluated(all)
	if err != nil {
		return experiment{}, err
	}
	e := experiment{out: o.out, workers: cfg.Executor.Workers}
	for _, p := range degenerate {
		e.notes = append(e.notes, p.Name()+" is left out: its variance is zero, every task passes always or never")
	}
	var workers *serving.Workers
	if cfg.Systems.Engine == config.EngineVLLM {
		workers = timedWorkers(cfg, o)
		e.close = workers.Close
	}
	stages, notes, err := stages(cfg, profiles, workers)
	e.stages, e.notes = stages, append(e.notes, notes...)
	return e, err
}

// sampled is the experiment whose rollouts are sampled from servers.
func sampled(cfg *config.Config, o outside) (experiment, error) {
	servers := servers(cfg, o)
	settings, err := generateSettings(cfg, servers)
	if err != nil {
		return experiment{}, err
	}
	return experiment{
		out: o.out, workers: cfg.Executor.Workers,
		stages: []dag.Stage{generate.Stage(settings)},
		notes:  []string{"rollouts are sampled but not scored: that stage, and what follows from it, is not in this version"},
		close:  servers.Close,
	}, nil
}

// stages is the literal list of stages, in order, for the profiles to evaluate.
// Workers are those of timed runs, nil where none are to be made. Notes are what
// the user should know.
func stages(cfg *config.Config, profiles []profile.Profile, workers *serving.Workers) (_ []dag.Stage, notes []string, err error) {
	published, err := arePublished(profiles)
	if err != nil {
		return nil, nil, err
	}
	pairs := pair.AllKnown(profiles)
	replays, err := replay.Stage(replay.Settings{
		Seed:            cfg.Experiment.Seed,
		Budgets:         cfg.Experiment.Budgets,
		Draws:           cfg.Replay.Draws,
		Replicates:      cfg.Replay.Replicates,
		QuadratureOrder: cfg.Replay.QuadratureOrder,
		Alphas:          cfg.Replay.IBNAlphas,
		Slice:           cfg.Slice,
	}, pairs)
	if err != nil {
		return nil, nil, err
	}
	timed, notes, err := systemsStage(cfg, pairs, workers)
	if err != nil {
		return nil, nil, err
	}
	standIn := cfg.Corpus.StandIn(data.ProfilesName)
	return []dag.Stage{
		generate.Satisfied(standIn),
		score.Stage(standIn),
		replays,
		timed,
		report.Stage(report.Settings{
			Published:     published,
			Budgets:       cfg.Experiment.Budgets,
			Pairs:         pairs,
			Targets:       data.PaperTargets(),
			Architectures: data.Architectures(),
			Measurements:  data.Measurements(),
			Systems:       timed.Satisfied == "",
		}),
	}, notes, nil
}

// arePublished reports whether profiles, evaluated ones, are exactly the
// paper's: only then do its numbers apply. Both are sorted.
func arePublished(profiles []profile.Profile) (bool, error) {
	all, err := profile.Parse(data.Profiles(), data.ProfilesName)
	if err != nil {
		return false, err
	}
	papers, _, err := profile.Evaluated(all)
	return slices.EqualFunc(profiles, papers, func(a, b profile.Profile) bool {
		return a.SHA256() == b.SHA256()
	}), err
}

func verify(out string) (verdicts, error) {
	return report.Verify(out, data.PaperTargets())
}
