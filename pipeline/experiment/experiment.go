// Package experiment turns a configuration into what the stages and commands
// work with: settings of stages, servers, scorers, task files, and the
// simulated fleet. It owns the wiring and nothing else: no file formats and no
// terminal.
package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"speceval/data"
	"speceval/internal/machine/clock"
	"speceval/internal/servers/pool"
	"speceval/internal/servers/vllm"
	"speceval/internal/store/profile"
	"speceval/internal/terminal/typeset"
	"speceval/pipeline/config"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
	"speceval/stages/generate"
	"speceval/stages/replay"
	"speceval/stages/report"
	"speceval/stages/report/page"
	"speceval/stages/report/stored"
	"speceval/stages/report/tables"
	"speceval/stages/score"
)

// Outside is the part of the world that an experiment may use.
type Outside struct {
	Out         string            // output folder, in place of the configured one; "" for that
	Logs        string            // folder for logs of what units start; "": in the output folder
	Environment []string          // for processes that are started, and with the keys of servers
	Report      func(text string) // shows a line while units run, from any goroutine
}

// say shows a line, if it is not empty.
func (o Outside) say(text string) {
	if text != "" && o.Report != nil {
		o.Report(text)
	}
}

// Experiment is a configuration turned into stages.
type Experiment struct {
	Out    string      // output folder
	Stages []dag.Stage // in order

	Executor config.Executor
	Servers  map[string]bool // stages whose units start servers

	Reports stored.Settings     // of the report stage, for commands that explain its tables
	Notes   map[string][]string // what the user should know before units of a stage run

	// Page writes the page of the report; nil: there is none.
	Page func(w io.Writer, h page.History) error
	// Findings writes what profiles of one's own have shown; nil where they are the paper's,
	// with which verify compares.
	Findings func(w io.Writer) error
	// Verify compares the results with the paper.
	Verify func() (report.Verdicts, error)

	config  *config.Config
	outside Outside
	file    string // of the configuration
	sets    []string
	close   []func(ctx context.Context) error // end what units have started
}

// Close ends what units have started.
func (e *Experiment) Close(ctx context.Context) error {
	var faults []error
	for _, end := range e.close {
		faults = append(faults, end(ctx))
	}
	return errors.Join(faults...)
}

// Load reads a configuration with overrides of the form key=value, and makes
// its stages. An error is a fault of the configuration or of a file it names.
func Load(file string, sets []string, o Outside) (*Experiment, error) {
	cfg, err := config.Load(file, sets)
	if err != nil {
		return nil, err
	}
	o.Out = cmp.Or(o.Out, cfg.Experiment.Out)
	sampled, timed := cfg.Corpus.Source == config.SourceVLLM, cfg.Systems.Engine == config.EngineVLLM
	launched := slices.ContainsFunc(cfg.Workers, func(w config.Worker) bool { return w.Launch != "" })
	e := &Experiment{
		Out: o.Out, Executor: cfg.Executor,
		Servers: map[string]bool{"generate": launched && sampled, "systems": launched && timed},
		Reports: stored.Settings{
			Budgets: cfg.Experiment.Budgets, CaseStudy: stored.CaseStudy{Profile: cfg.Replay.CaseStudy.Profile, Budget: cfg.Replay.CaseStudy.Budget},
			Targets: data.PaperTargets(), Architectures: data.Architectures(), Measurements: data.Measurements(),
			Memory: new(stored.Memory),
		},
		Notes:  map[string][]string{},
		config: cfg, outside: o, file: file, sets: sets,
	}
	corpus := e.knownCorpus
	if sampled {
		corpus = e.sampledCorpus
	}
	generating, scoring, err := corpus()
	if err != nil {
		return nil, err
	}
	r := &e.Reports
	replaying, err := replay.Stage(e.replaySettings(), r.Pairs)
	if err != nil {
		return nil, err
	}
	timing, err := e.systemsStage()
	if err != nil {
		return nil, err
	}
	for _, why := range []string{r.NoCaseStudy(), r.Few} {
		if why != "" {
			e.Notes["replay"] = append(e.Notes["replay"], why)
		}
	}
	r.TeX, e.Notes["report"] = texEngine(cfg, o.Out, exec.LookPath, o.Environment)
	e.Stages = []dag.Stage{generating, scoring, replaying, timing, report.Stage(*r)}
	e.Page = func(w io.Writer, h page.History) error {
		h.Paper = config.Default().Values()
		return page.Write(w, stored.NewSource(r, stored.Folder(o.Out)), h)
	}
	e.Verify = func() (report.Verdicts, error) { return report.VerifyFolder(*r, o.Out) }
	if !r.Published {
		e.Findings = func(w io.Writer) error { return tables.Findings(w, stored.NewSource(r, stored.Folder(o.Out))) }
	}
	return e, nil
}

// knownCorpus returns the first two stages with nothing to run: profiles stand in for rollouts, the
// paper's or a file of the user's.
func (e *Experiment) knownCorpus() (generating, scoring dag.Stage, err error) {
	all, standIn, err := knownProfiles(e.config)
	if err != nil {
		return generating, scoring, err
	}
	r := &e.Reports
	known, leftOut, err := profile.Evaluated(all)
	if err != nil {
		return generating, scoring, err
	}
	r.Pairs, r.LeftOut, r.Published = pair.AllKnown(known), leftOut, arePublished(known)
	least := math.MaxInt
	for _, p := range known {
		for i := range p.N() {
			least = min(least, p.Rollouts(i))
		}
	}
	r.Few = few(least)
	for _, p := range r.LeftOut {
		e.Notes["replay"] = append(e.Notes["replay"], p.Name()+" is left out: its variance is zero, every task passes always or never")
	}
	return generate.Satisfied(standIn), score.Satisfied(standIn), nil
}

// few says what becomes of savings on profiles with as few rollouts of a task; "" of many. The shares
// are those at b = 64 on profiles drawn from Beta(½, ½).
func few(rollouts int) string {
	const enough = 128
	if rollouts >= enough {
		return ""
	}
	return fmt.Sprintf("Profiles with %d rollouts of a task overstate savings: by some 90%% with 8 of each task, 50%% with 16, 20%% with 32, 10%% with 64", rollouts)
}

// knownProfiles reads profiles, sorted by benchmark and model, degenerate ones included, and says
// for plans what they are: a file of the user's, which is used whole, or the published ones of the
// listed models on the listed benchmarks.
func knownProfiles(cfg *config.Config) (all []profile.Profile, standIn string, err error) {
	if path := cfg.Corpus.Profiles; path != "" {
		if all, err = profile.Read(path); err != nil {
			err = fmt.Errorf("corpus.profiles: %w", err)
		}
		return all, "profiles from " + path, err
	}
	published := PublishedProfiles()
	for _, m := range cfg.Models {
		if !slices.ContainsFunc(published, func(p profile.Profile) bool { return p.Model == m.ID }) {
			return nil, "", fmt.Errorf("model %q: %s has no profile of this model", m.ID, data.ProfilesName)
		}
	}
	for _, b := range cfg.Benchmarks {
		of := func(p profile.Profile) bool { return p.Benchmark == b.ID }
		if !slices.ContainsFunc(published, of) {
			return nil, "", fmt.Errorf("benchmark %q: %s has no profile on this benchmark", b.ID, data.ProfilesName)
		}
	}
	for _, p := range published {
		ofModel := slices.ContainsFunc(cfg.Models, func(m config.Model) bool { return m.ID == p.Model })
		if ofModel && slices.ContainsFunc(cfg.Benchmarks, func(b config.Benchmark) bool { return b.ID == p.Benchmark }) {
			all = append(all, p)
		}
	}
	return all, "published profiles stand in: " + data.ProfilesName, nil
}

// sampledCorpus returns the stages that sample rollouts from servers, and score them.
func (e *Experiment) sampledCorpus() (generating, scoring dag.Stage, err error) {
	cfg, r := e.config, &e.Reports
	servers, judges := Servers(cfg, e.outside), Judges(cfg, e.outside)
	tasks, absent, err := readTasks(cfg)
	if err = errors.Join(err, absent); err != nil {
		return generating, scoring, err
	}
	s, notes, err := ScoreSettings(cfg, e.outside, judges, tasks)
	if err != nil {
		return generating, scoring, err
	}
	if scoring, err = score.Stage(s); err != nil {
		return generating, scoring, err
	}
	generating = generate.Stage(e.generateSettings(servers, tasks))
	e.Notes["score"] = notes
	r.Pairs, r.Few = score.Pairs(s), few(cfg.Corpus.RolloutsPerTask)
	slices.SortFunc(r.Pairs, func(a, b pair.Pair) int {
		return cmp.Or(cmp.Compare(a.Benchmark, b.Benchmark), cmp.Compare(a.Model, b.Model))
	})
	e.close = append(e.close, servers.Close, judges.Close)
	return generating, scoring, nil
}

// generateSettings returns the settings of the generate stage.
func (e *Experiment) generateSettings(servers *pool.Servers, tasks []TaskFile) generate.Settings {
	cfg := e.config
	s := generate.Settings{
		Seed: cfg.Experiment.Seed, Rollouts: cfg.Corpus.RolloutsPerTask,
		Config: cfg.Asked("experiment.seed", "corpus.rollouts_per_task", "serving.version"),
		Clock:  clock.Wall{}, OnLoss: vllm.OnLoss(cfg.Serving.OnLoss),
	}
	models := map[string]pool.Model{}
	for _, m := range cfg.Models {
		served := ServedModel(cfg, m)
		served.Requires.Continues = Continues(cfg)
		models[m.ID] = served
		s.Models = append(s.Models, generate.Model{
			ID: m.ID, Sampling: Sampling(cfg, m), Config: ModelText(m),
			Expect: func(benchmark string, requests int) []dag.Quantity {
				return expectedRollouts(benchmark, m.ID, requests, cfg.Sampling.MaxTokens)
			},
		})
	}
	s.Servers = func(ctx context.Context, model string, drain <-chan struct{}) (generate.Servers, error) {
		served := models[model]
		served.Drain = drain
		return servers.Acquire(ctx, served)
	}
	for _, b := range tasks {
		s.Benchmarks = append(s.Benchmarks, generate.Benchmark{ID: b.ID, Tasks: b.Tasks, Source: b.Prompts()})
	}
	return s
}

// replaySettings returns the settings of the replay stage.
func (e *Experiment) replaySettings() replay.Settings {
	r := e.config.Replay
	return replay.Settings{
		Seed: e.config.Experiment.Seed, Budgets: e.config.Experiment.Budgets, Slice: e.config.Slice,
		Draws: r.Draws, Replicates: r.Replicates, EvenPanels: r.Panels == config.PanelsEven, QuadratureOrder: r.QuadratureOrder,
		Alphas: r.IBNAlphas, Resamples: r.Resamples, ResampleDraws: r.ResampleDraws, CaseStudy: replay.CaseStudy(r.CaseStudy),
		TSNeyman: replay.TSNeyman{
			Exhaustive: r.TSNeyman.Search == config.SearchExhaustive, Alphas: r.TSNeyman.Alphas, WarmStarts: r.TSNeyman.WarmStarts,
			Draws: r.TSNeyman.Draws, RaceDraws: r.TSNeyman.RaceDraws, FinalDraws: r.TSNeyman.FinalDraws, Finalists: r.TSNeyman.Finalists,
		},
	}
}

// pdfFile is the report as it is printed, in the output folder.
const pdfFile = "report.pdf"

// texEngine is the TeX engine that sets the report in the folder out, nil where
// there is none or none is wanted, with what the user should know of it.
func texEngine(cfg *config.Config, out string, look func(string) (string, error), environment []string) (_ *typeset.Engine, notes []string) {
	if cfg.Report.PDF == config.PDFAuto {
		engine, err := typeset.Find(context.Background(), look, environment)
		if err == nil {
			return engine, nil
		}
		notes = append(notes, fmt.Sprintf("report.tex is written without %s, since %v; or set it elsewhere (cd %s && pdflatex report.tex, twice)", pdfFile, err, out))
	}
	if _, err := os.Stat(filepath.Join(out, pdfFile)); err == nil {
		notes = append(notes, fmt.Sprintf("the %s in %s is of an earlier run", pdfFile, out))
	}
	return nil, notes
}
