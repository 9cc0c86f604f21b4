package main

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"slices"

	"speceval/data"
	"speceval/internal/typeset"
	"speceval/pipeline/config"
	"speceval/pipeline/dag"
	"speceval/stages/replay"
	"speceval/stages/report"
)

// pipeline is what the commands work on. Tests put small experiments in place
// of the shipped one.
type pipeline struct {
	// load reads the configuration, with overrides of the form key=value.
	load func(file string, sets []string, o outside) (experiment, error)
	// verify compares the results in an output folder with the paper.
	verify func(out string) (verdicts, error)
	// elsewhere tells of the units of an output folder that run, or ran, on other
	// machines; nil: none does.
	elsewhere func(out string) ([]unitStanding, error)
}

// outside is what of the world outside stages may use.
type outside struct {
	out         string            // output folder, in place of the configured one; "" for that
	logs        string            // folder for logs of what units start; "": in the output folder
	key         string            // that servers want; "" for none
	environment []string          // for processes that are started
	report      func(text string) // shows a line while units run, from any goroutine
}

// experiment is a configuration turned into stages.
type experiment struct {
	out     string // output folder
	workers int    // units at a time; 0 = one per core
	stages  []dag.Stage

	executor config.Executor
	servers  map[string]bool // stages whose units start servers

	report report.Settings                 // of the report stage, for commands that explain its tables
	notes  []string                        // what the user should know before a run
	close  func(ctx context.Context) error // ends what units have started; nil: nothing

	// page writes the page of the report; nil: there is none.
	page func(w io.Writer, h report.History) error
}

// verdicts is the comparison of results with the paper.
type verdicts interface {
	Text(io.Writer) error
	JSON(io.Writer) error
	Passed() bool
	Missing() int
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
	c, err := newCorpus(cfg, o)
	if err != nil {
		return experiment{}, err
	}
	var timed *timing
	if cfg.Systems.Engine == config.EngineVLLM {
		timed = &timing{workers: timedWorkers(cfg, o), vacate: c.close, judges: judgeServers(cfg, o)}
	}
	engine, texNotes := texEngine(cfg, o.out, exec.LookPath, o.environment)
	stages, reports, notes, err := stages(cfg, c, timed, engine)
	return experiment{
		page: func(w io.Writer, h report.History) error {
			h.Settings = pageSettings(cfg)
			return report.WritePage(w, o.out, reports, h)
		},
		out: o.out, workers: cfg.Executor.Workers, executor: cfg.Executor, servers: serverStages(cfg), stages: stages, report: reports, notes: slices.Concat(c.notes, notes, texNotes),
		close: func(ctx context.Context) error { return errors.Join(c.end(ctx), timed.end(ctx)) },
	}, err
}

// serverStages are the stages whose units start servers.
func serverStages(cfg *config.Config) map[string]bool {
	launched := slices.ContainsFunc(cfg.Workers, func(w config.Worker) bool { return w.Launch != "" })
	return map[string]bool{
		"generate": launched && cfg.Corpus.Source == config.SourceVLLM,
		"systems":  launched && cfg.Systems.Engine == config.EngineVLLM,
	}
}

// stages is the literal list of stages, in order, with the settings of the last
// one and what the user should know. Timed is nil where no timed runs are to be
// made on servers, and engine where no PDF of the report is.
func stages(cfg *config.Config, c corpus, timed *timing, engine *typeset.Engine) (_ []dag.Stage, _ report.Settings, notes []string, err error) {
	replays, err := replay.Stage(replay.Settings{
		Seed:            cfg.Experiment.Seed,
		Budgets:         cfg.Experiment.Budgets,
		Draws:           cfg.Replay.Draws,
		Replicates:      cfg.Replay.Replicates,
		QuadratureOrder: cfg.Replay.QuadratureOrder,
		Alphas:          cfg.Replay.IBNAlphas,
		Resamples:       cfg.Replay.Resamples,
		ResampleDraws:   cfg.Replay.ResampleDraws,
		CaseStudy:       replay.CaseStudy(cfg.Replay.CaseStudy),
		TSNeyman: replay.TSNeyman{
			Exhaustive: cfg.Replay.TSNeyman.Search == config.SearchExhaustive,
			Alphas:     cfg.Replay.TSNeyman.Alphas,
			WarmStarts: cfg.Replay.TSNeyman.WarmStarts,
			Draws:      cfg.Replay.TSNeyman.Draws,
			RaceDraws:  cfg.Replay.TSNeyman.RaceDraws,
			FinalDraws: cfg.Replay.TSNeyman.FinalDraws,
			Finalists:  cfg.Replay.TSNeyman.Finalists,
		},
		Slice: cfg.Slice,
	}, c.pairs)
	if err != nil {
		return nil, report.Settings{}, nil, err
	}
	runs, notes, err := systemsStage(cfg, c.pairs, timed)
	if err != nil {
		return nil, report.Settings{}, nil, err
	}
	live, err := liveResults(cfg, c, runs)
	if err != nil {
		return nil, report.Settings{}, nil, err
	}
	reports := report.Settings{
		Live:          live,
		Published:     c.published,
		Budgets:       cfg.Experiment.Budgets,
		Pairs:         c.pairs,
		LeftOut:       c.leftOut,
		CaseStudy:     report.CaseStudy{Profile: cfg.Replay.CaseStudy.Profile, Budget: cfg.Replay.CaseStudy.Budget},
		Targets:       data.PaperTargets(),
		Architectures: data.Architectures(),
		Measurements:  data.Measurements(),
		Systems:       runs.Satisfied == "",
		Configuration: shownConfiguration(cfg),
		TeX:           engine,
	}
	if why := reports.NoCaseStudy(); why != "" {
		notes = append(notes, why)
	}
	return append(c.stages, replays, runs, report.Stage(reports)), reports, notes, nil
}

func verify(out string) (verdicts, error) {
	return report.Verify(out, data.PaperTargets())
}
