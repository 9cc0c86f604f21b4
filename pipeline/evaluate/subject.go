package evaluate

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"speceval/data"
	"speceval/internal/benchmark/sampler"
	"speceval/internal/evaluation"
	"speceval/internal/evaluation/ledger"
	"speceval/internal/machine/clock"
	"speceval/internal/policy/seed"
	"speceval/internal/scoring/family"
	"speceval/internal/servers/vllm"
	"speceval/internal/terminal/display"
	"speceval/pipeline/config"
	"speceval/pipeline/experiment"
)

// Options say which configuration evaluations have.
type Options struct {
	Config   string   // file of the experiment
	Optional bool     // where there is no such file the defaults will do
	Sets     []string // overrides of the form key=value
	Out      string   // output folder; "": the configured one
	Workers  []string // servers as Servers has them; none: the configured workers
}

// Configuration reads the configuration, with the options in place of what it
// says. What is wrong with it is a *RequestError.
func Configuration(o Options) (*config.Config, error) {
	load := config.Load
	if o.Optional {
		load = config.LoadOrDefaults
	}
	cfg, err := load(o.Config, o.Sets)
	if err != nil {
		return nil, &RequestError{err}
	}
	c := *cfg
	if o.Out != "" {
		c.Experiment.Out = o.Out
	}
	if len(o.Workers) > 0 {
		if c.Workers, err = workers(o.Workers); err != nil {
			return nil, err
		}
	}
	return &c, nil
}

// Benchmark is the tasks that evaluations are of, and what has been evaluated.
type Benchmark struct {
	Archive
	tasks experiment.TaskFile // of all benchmarks of a suite

	files  []experiment.TaskFile // one for each benchmark
	parts  []evaluation.Part     // the benchmarks of a suite; none of a single one
	shares []float64             // of the tasks in the mean of a suite

	outside bool               // only the tasks' ids are known: another program asks
	inline  []evaluation.Donor // whose counts it sent itself
}

// OpenBenchmark reads the tasks of a benchmark: an id of the configuration, a
// benchmark that is built in, or a task file. What is wrong with them is a
// *RequestError.
func (a Archive) OpenBenchmark(name string) (*Benchmark, error) {
	builtIn := strings.Join(data.BuiltInNames(), ", ")
	if name == "" {
		return nil, requestf("name a benchmark with --benchmark: an id of the configuration, one of %s, or a task file", builtIn)
	}
	named := config.Benchmark{ID: name}
	if i := slices.IndexFunc(a.Config.Benchmarks, func(b config.Benchmark) bool { return b.ID == name }); i >= 0 {
		named = a.Config.Benchmarks[i]
	} else {
		info, err := os.Stat(name)
		if ext := filepath.Ext(name); ext == ".jsonl" || ext == ".csv" || err == nil && !info.IsDir() {
			named = config.Benchmark{ID: strings.TrimSuffix(filepath.Base(name), ext), Tasks: name}
		}
	}
	tasks, err := experiment.ReadTasks(a.Config, named)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; the paper's task files are made by `make benchmarks`; or name a task file with --benchmark%s, or one that is built in: %s", err, filesBeside(name), builtIn)
	}
	if err != nil {
		return nil, &RequestError{err}
	}
	return &Benchmark{Archive: a, tasks: tasks, files: []experiment.TaskFile{tasks}}, nil
}

// filesBeside are the task files in the folder of a path that may be misspelt, for a message.
func filesBeside(path string) string {
	there, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.jsonl"))
	if err != nil || len(there) == 0 || len(there) > 9 {
		return ""
	}
	return ", such as " + strings.Join(there, ", ")
}

// sameTasks is nil if an evaluation was of these tasks.
func (b *Benchmark) sameTasks(r *evaluation.Result) error {
	f := b.tasks
	if len(r.Rows) != len(f.Tasks) {
		return fmt.Errorf("it is of %s with %d tasks, not of %s with %d", r.Benchmark, len(r.Rows), f.ID, len(f.Tasks))
	}
	for i, t := range r.Rows {
		if t.ID != f.Tasks[i].ID {
			return fmt.Errorf("its task %d is %s, that of %s is %s", i, t.ID, f.ID, f.Tasks[i].ID)
		}
	}
	return nil
}

// Subject is a model on a benchmark.
type Subject struct {
	*Benchmark // its configuration has this model alone
	model      config.Model
}

// With is the benchmark with a model: an id of the configuration, or a name under which servers
// have one. One that is not configured answers without thinking apart.
func (b *Benchmark) With(model string) (*Subject, error) {
	if model == "" {
		return nil, requestf("name a model with --model: an id of the configuration, or the name that servers give it")
	}
	cfg, with := *b.Config, *b
	at := slices.IndexFunc(cfg.Models, func(m config.Model) bool { return m.ID == model })
	if at < 0 {
		at = slices.IndexFunc(cfg.Models, func(m config.Model) bool { return m.Served == model })
	}
	s := &Subject{Benchmark: &with, model: config.Model{ID: model, Title: model, Path: model, Served: model, MaxSequences: cfg.Systems.Window}}
	if at >= 0 {
		s.model = cfg.Models[at]
	}
	cfg.Models, with.Config = []config.Model{s.model}, &cfg
	return s, nil
}

// price is the price of the model's tokens: as given, otherwise as configured; nil: not known.
func (s *Subject) price(given *ledger.Price) (*ledger.Price, error) {
	if given != nil || s.model.Price == "" {
		return given, nil
	}
	p, err := ledger.ParsePrice(s.model.Price)
	if err != nil {
		return nil, requestf("[[model]] %s: %w", s.model.ID, err)
	}
	return p, nil
}

// setup is an evaluation, still without a policy, a budget and a design. A seed of nil
// stands for the experiment's.
func (s *Subject) setup(seed *uint64) evaluation.Setup {
	setup := evaluation.Setup{Head: evaluation.Head{Benchmark: s.tasks.ID, Model: s.model.ID, Seed: s.Config.Experiment.Seed}, Asked: s.Config.Asked()}
	if seed != nil {
		setup.Seed = *seed
	}
	clustered := false // where some tasks have clusters, every other one is one of its own
	for _, t := range s.tasks.Tasks {
		setup.TaskIDs, setup.Clusters = append(setup.TaskIDs, t.ID), append(setup.Clusters, cmp.Or(t.Cluster, t.ID))
		clustered = clustered || t.Cluster != ""
	}
	if !clustered {
		setup.Clusters = nil
	}
	setup.Shares, setup.Suite = s.shares, s.parts
	setup.Asked["prompts"] = s.tasks.Prompts().SHA256
	setup.Asked["model"] = experiment.ModelText(s.model)
	return setup
}

// settings are the settings of an evaluation, without its servers and scorers.
func (s *Subject) settings(setup evaluation.Setup, folder string) evaluation.Settings {
	rollouts := seed.Root(setup.Seed).Child("evaluate").Child(s.tasks.ID)
	if !setup.Coupled {
		rollouts = rollouts.Child(s.model.ID)
	}
	return evaluation.Settings{
		Setup: setup, Folder: folder, Prior: s.Prior(), Unparted: experiment.Unparted(s.model), Found: family.Found, Clock: clock.Wall{},
		Corpus: sampler.Corpus{
			Benchmark: s.tasks.ID, Model: s.model.ID, Tasks: s.tasks.Tasks, Sampling: experiment.Sampling(s.Config, s.model), Seed: rollouts,
		},
	}
}

// keyMark stands between an address and the name of a variable.
const keyMark = ",key_env="

// workers are servers as they are named on the command line: URL, or URL,key_env=NAME of
// those whose key is in an environment variable of their own. Those with the same variable
// are one worker. What is wrong is a *RequestError, which repeats no password and no key.
func workers(named []string) ([]config.Worker, error) {
	var all []config.Worker
	for _, text := range named {
		address, variable, own := strings.Cut(text, keyMark)
		if own && !config.VariableName.MatchString(variable) {
			return nil, requestf("--worker %s%s: want the name of an environment variable behind it, in capital letters, and not the key itself", display.Address(address), keyMark)
		}
		if err := vllm.CheckAddress(address); err != nil {
			return nil, requestf("--worker: %w", err)
		}
		at := slices.IndexFunc(all, func(w config.Worker) bool { return w.KeyEnv == variable })
		if at < 0 {
			at = len(all)
			name := "worker"
			if at > 0 {
				name = fmt.Sprintf("worker_%d", at+1)
			}
			all = append(all, config.Worker{Name: name, KeyEnv: variable})
		}
		all[at].URLs = append(all[at].URLs, address)
	}
	return all, nil
}
