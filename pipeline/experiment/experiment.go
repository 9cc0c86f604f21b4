// Package experiment turns a configuration into what the stages and commands
// work with: settings of stages, servers, scorers, task files, and the
// simulated fleet. It owns the wiring and nothing else: no file formats, no
// terminal, no order of stages.
package experiment

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"slices"

	"speceval/internal/page"
	"speceval/pipeline/config"
	"speceval/pipeline/dag"
	"speceval/stages/replay"
	"speceval/stages/report"
	"speceval/stages/report/html"
	"speceval/stages/report/stored"
)

// Outside is what of the world outside an experiment may use.
type Outside struct {
	Out         string            // output folder, in place of the configured one; "" for that
	Logs        string            // folder for logs of what units start; "": in the output folder
	Environment []string          // for processes that are started, and with the keys of servers
	Report      func(text string) // shows a line while units run, from any goroutine
}

// Experiment is a configuration turned into stages.
type Experiment struct {
	Out     string // output folder
	Workers int    // units at a time; 0 = one per core

	Generate, Score, Replay, Systems, Report dag.Stage

	Executor config.Executor
	Servers  map[string]bool // stages whose units start servers

	Reports stored.Settings                 // of the report stage, for commands that explain its tables
	Notes   []string                        // what the user should know before a run
	Close   func(ctx context.Context) error // ends what units have started; nil: nothing

	// Page writes the page of the report; nil: there is none.
	Page func(w io.Writer, h html.History) error

	file string // of the configuration
	sets []string
}

// Load reads a configuration with overrides of the form key=value, and makes
// its stages. An error is a fault of the configuration or of a file it names.
func Load(file string, sets []string, o Outside) (*Experiment, error) {
	cfg, err := config.Load(file, sets)
	if err != nil {
		return nil, err
	}
	if o.Out == "" {
		o.Out = cfg.Experiment.Out
	}
	c, err := newCorpus(cfg, o)
	if err != nil {
		return nil, err
	}
	var timed *timing
	if cfg.Systems.Engine == config.EngineVLLM {
		timed = &timing{workers: timedWorkers(cfg, o), vacate: c.close, judges: Judges(cfg, o), outside: o}
	}
	e := &Experiment{
		Out: o.Out, Workers: cfg.Executor.Workers, Executor: cfg.Executor, Servers: serverStages(cfg),
		Generate: c.generate, Score: c.score, file: file, sets: sets,
		Close: func(ctx context.Context) error { return errors.Join(c.end(ctx), timed.end(ctx)) },
	}
	if e.Replay, err = replay.Stage(replaySettings(cfg), c.pairs); err != nil {
		return nil, err
	}
	systems, notes, err := systemsStage(cfg, c.pairs, timed)
	if err != nil {
		return nil, err
	}
	e.Systems = systems
	if e.Reports, err = reportSettings(cfg, c, e.Systems); err != nil {
		return nil, err
	}
	if why := e.Reports.NoCaseStudy(); why != "" {
		notes = append(notes, why)
	}
	engine, texNotes := texEngine(cfg, o.Out, exec.LookPath, o.Environment)
	e.Reports.TeX = engine
	e.Report = report.Stage(e.Reports)
	e.Notes = slices.Concat(c.notes, notes, texNotes)
	e.Page = func(w io.Writer, h html.History) error {
		for _, s := range cfg.Settings() {
			h.Settings = append(h.Settings, page.Setting(s))
		}
		return html.Write(w, stored.NewSource(&e.Reports, stored.Folder(o.Out)), h)
	}
	return e, nil
}

// serverStages are the stages whose units start servers.
func serverStages(cfg *config.Config) map[string]bool {
	launched := slices.ContainsFunc(cfg.Workers, func(w config.Worker) bool { return w.Launch != "" })
	return map[string]bool{
		"generate": launched && cfg.Corpus.Source == config.SourceVLLM,
		"systems":  launched && cfg.Systems.Engine == config.EngineVLLM,
	}
}

// replaySettings are those of the replay stage.
func replaySettings(cfg *config.Config) replay.Settings {
	return replay.Settings{
		Seed:            cfg.Experiment.Seed,
		Budgets:         cfg.Experiment.Budgets,
		Draws:           cfg.Replay.Draws,
		Replicates:      cfg.Replay.Replicates,
		EvenPanels:      cfg.Replay.Panels == config.PanelsEven,
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
	}
}
