// Package experiment turns a configuration into what the stages and commands
// work with: settings of stages, servers, scorers, task files, and the
// simulated fleet. It owns the wiring and nothing else: no file formats, no
// terminal, no order of stages.
package experiment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os/exec"
	"slices"
	"strings"

	"speceval/internal/servers/serving"
	"speceval/internal/servers/vllm"
	"speceval/pipeline/config"
	"speceval/pipeline/dag"
	"speceval/stages/replay"
	"speceval/stages/report"
	"speceval/stages/report/page"
	"speceval/stages/report/stored"
	"speceval/stages/report/tables"
)

// Outside is the part of the world that an experiment may use.
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
	Notes   map[string][]string             // what the user should know before units of a stage run
	Close   func(ctx context.Context) error // ends what units have started; nil: nothing

	// Page writes the page of the report; nil: there is none.
	Page func(w io.Writer, h page.History) error
	// Findings writes what profiles of one's own have shown; nil where they are the paper's,
	// with which verify compares.
	Findings func(w io.Writer) error

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
	c, err := newProfileStages(cfg, o)
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
	var noStudy []string
	if why := e.Reports.NoCaseStudy(); why != "" {
		noStudy = append(noStudy, why)
	}
	engine, texNotes := texEngine(cfg, o.Out, exec.LookPath, o.Environment)
	e.Reports.TeX = engine
	e.Report = report.Stage(e.Reports)
	e.Notes = map[string][]string{
		e.Score.Name: c.scoreNotes, e.Replay.Name: slices.Concat(c.notes, noStudy), e.Systems.Name: notes, e.Report.Name: texNotes,
	}
	e.Page = func(w io.Writer, h page.History) error {
		for _, s := range cfg.Settings() {
			h.Settings = append(h.Settings, page.Setting(s))
		}
		return page.Write(w, stored.NewSource(&e.Reports, stored.Folder(o.Out)), h)
	}
	if !e.Reports.Published {
		e.Findings = func(w io.Writer) error {
			return tables.Findings(w, stored.NewSource(&e.Reports, stored.Folder(o.Out)))
		}
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

// replaySettings returns the settings of the replay stage.
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

// KeyVariable is the environment variable with the key of workers that name none. It is
// theirs where all workers are on one host, so that no server gets the key of another; the
// judge gets it only where judge.key_env names it.
const KeyVariable = "SPECEVAL_API_KEY"

// value returns the value of a variable in an environment; "" if it is absent.
func value(environment []string, name string) string {
	for _, entry := range slices.Backward(environment) { // the last counts
		if text, found := strings.CutPrefix(entry, name+"="); found {
			return text
		}
	}
	return ""
}

// setKey gives a worker the key of the variable with a name, where owner names it.
func setKey(w *serving.Worker, environment []string, name, owner string) {
	w.Key = vllm.Key(value(environment, name))
	w.KeyHint = fmt.Sprintf("the key of %s is taken from the environment variable %s", owner, name)
	switch fault := w.Key.Check(); {
	case w.Key == "":
		w.KeyFault = fmt.Errorf("key_env of %s names the environment variable %s, which is not set", owner, name)
	case fault != nil:
		w.KeyFault = fmt.Errorf("the environment variable %s: %w", name, fault)
	}
}

// setWorkerKey gives a worker its key: that of the variable it names, or that of
// KeyVariable where all workers are on one host.
func setWorkerKey(w *serving.Worker, of config.Worker, oneHost bool, environment []string) {
	owner := "worker " + of.Name
	switch {
	case of.KeyEnv != "":
		setKey(w, environment, of.KeyEnv, owner)
	case !oneHost:
		w.KeyHint = fmt.Sprintf("no key is sent to %s, since workers are on several hosts: name the environment variable with its key in key_env, or as --worker URL,key_env=NAME", owner)
	default:
		setKey(w, environment, KeyVariable, owner)
		if w.Key == "" {
			w.KeyFault = nil // nothing asks for one
		}
	}
}

// judgeWorker is the servers of the judge, which get a key where one is named for them.
func judgeWorker(cfg *config.Config, environment []string) serving.Worker {
	w := serving.Worker{Name: "judge", URLs: cfg.Judge.URLs}
	if cfg.Judge.KeyEnv == "" {
		w.KeyHint = "no key is sent to the judge: name the environment variable with its key in judge.key_env"
		return w
	}
	setKey(&w, environment, cfg.Judge.KeyEnv, "the judge")
	return w
}

// onOneHost reports whether all workers are on the same host. Servers that are launched are
// on this one.
func onOneHost(workers []config.Worker) bool {
	hosts := map[string]bool{}
	for _, w := range workers {
		if w.Launch != "" {
			hosts[here] = true
		}
		for _, address := range w.URLs {
			hosts[hostOf(address)] = true
		}
	}
	return len(hosts) <= 1
}

// here is this machine.
const here = "127.0.0.1"

// hostOf is the host of an address.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	switch host := strings.ToLower(u.Hostname()); host {
	case "localhost", "::1":
		return here
	default:
		return host
	}
}

// withoutKeys is an environment without the keys of servers, which are no concern of other
// programs that are started.
func withoutKeys(environment []string, cfg *config.Config) []string {
	names := []string{KeyVariable, cfg.Judge.KeyEnv}
	for _, w := range cfg.Workers {
		names = append(names, w.KeyEnv)
	}
	return slices.DeleteFunc(slices.Clone(environment), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return name != "" && slices.Contains(names, name)
	})
}
