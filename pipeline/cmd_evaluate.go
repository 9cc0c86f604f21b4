package main

import (
	"strings"

	"github.com/spf13/pflag"

	"speceval/internal/evaluation"
	"speceval/pipeline/config"
	"speceval/pipeline/evaluate"
)

// evaluateOptions are the flags of an evaluation.
type evaluateOptions struct {
	benchmark, model string
	workers          []string // in place of the configured ones
	request          evaluate.Request
	shownResult
}

func evaluateCommand() command {
	o := new(evaluateOptions)
	return command{
		name: "evaluate",
		args: "--benchmark B --model M --budget b [--policy P] | plan | show E | list | compare E E | rescore E",
		about: `evaluate a model live: a benchmark mean with its error, for an exact budget of rollouts

A short pilot of every task, and the rest of the budget where the rollouts disagree.
B is a benchmark of the configuration, one that is built in, or a task file; M a model
of the configuration, or any name under which the servers serve one; b the average
number of rollouts per task. The servers are those of the [[worker]]s or of --worker:
vLLM, or any other server that speaks OpenAI's protocol. The same command again goes on
where it was stopped, and shows the result of what is complete. E is an evaluation: its
folder, or benchmark/model/name as list has it.

  plan     the budget that a standard error takes, before anything is spent
  show     a result again; --all shows every task
  list     the evaluations in the output folder
  compare  the difference of two evaluations, and what would resolve it
  rescore  score the answers again by the scorers of today`,
		examples: `  speceval evaluate --benchmark smallbench --model qwen2_5_3b --budget 8
  speceval evaluate --benchmark mine.jsonl --model my-model --budget 16 --worker http://127.0.0.1:8000
  speceval evaluate --benchmark aime24 --model qwen3_5_4b --target-se 0.01
  speceval evaluate plan --benchmark mine.jsonl --resolve 0.02
  speceval evaluate compare mine/a/hbn-async-b16-seed42 mine/b/hbn-async-b16-seed42
`,
		flags: o.flags,
		run:   o.run,
		subs: []command{
			evaluatePlanCommand(), evaluateShowCommand(), evaluateListCommand(), evaluateCompareCommand(), evaluateRescoreCommand(),
		},
	}
}

func (o *evaluateOptions) flags(fs *pflag.FlagSet) {
	r := &o.request
	benchmarkFlag(fs, &o.benchmark)
	fs.StringVar(&o.model, "model", "", "evaluate `M`: an id, or the name that servers give it")
	fs.StringVar(&r.Policy, "policy", "", "one of "+strings.Join(evaluation.WayNames(), ", ")+": `P` (hbn_staged; with donors hbn_informed_staged)")
	fs.IntVar(&r.Stages, "stages", 0, "have `K` stages, the pilot among them, in the place of what suits rollouts per place at the servers")
	fs.StringArrayVar(&o.workers, "worker", nil, "ask the server at `URL`, in the place of the configured workers; may be repeated")
	seedFlag(fs, &r.Seed, "the seed of all rollouts, `S` (experiment.seed); another one is another evaluation")
	goalFlags(fs, &r.Goal)
	fs.IntVar(&r.MostRollouts, "max-rollouts", 0, "spend `R` rollouts in all at most, alone or beside --target-se")
	fs.Int64Var(&r.MostTokens, "max-tokens", 0, "spend `T` tokens of answers that count at most, alone or beside --target-se")
	fs.StringVar(&r.Plan, "plan", "", "take the budget from `FILE`, which evaluate plan --json wrote")
	o.shownResult.flags(fs)
}

// benchmarkFlag defines the flag that names a benchmark.
func benchmarkFlag(fs *pflag.FlagSet, benchmark *string) {
	fs.StringVar(benchmark, "benchmark", "", "evaluate on `B`: an id, or a task file")
}

// goalFlags define what is to be spent or reached.
func goalFlags(fs *pflag.FlagSet, g *evaluate.Goal) {
	fs.IntVar(&g.Budget, "budget", 0, "spend `b` rollouts per task on average, at least 2")
	fs.Float64Var(&g.TargetSE, "target-se", 0, "in the place of --budget: as many as it takes for a standard error of `X`")
	fs.Float64Var(&g.Resolve, "resolve", 0, "in the place of --budget: as many as it takes to tell two models apart that differ by `D`")
	fs.StringVar(&g.From, "from", "", "plan by what the evaluation `E` found, and not by the prior")
	fs.StringArrayVar(&g.Sources, "prior", nil, "know the tasks from `SOURCE`: an evaluation, or a file of profiles (FILE#MODEL: one model's); may be repeated")
	fs.BoolVar(&g.OtherPrompts, "other-prompts", false, "let --prior be evaluations that asked other prompts")
}

// evaluationConfig reads the configuration of an evaluation, with these servers
// in place of its workers if there are any.
func (s *session) evaluationConfig(workers []string) (*config.Config, error) {
	return evaluate.Configuration(evaluate.Options{
		Config: s.config, Optional: s.config == defaultConfig, Sets: s.sets, Out: s.out, Workers: workers,
	})
}

// openBenchmark reads the configuration and the tasks of a benchmark.
func (s *session) openBenchmark(name string, workers []string) (*evaluate.Benchmark, error) {
	cfg, err := s.evaluationConfig(workers)
	if err != nil {
		return nil, err
	}
	return evaluate.OpenBenchmark(cfg, name)
}

// evaluationHost is this program around an evaluation.
func (s *session) evaluationHost() evaluate.Host {
	return evaluate.Host{
		Outside: s.outside(), Holder: s.holder(), Commit: s.origin.Commit, Began: s.now(),
		Say:  func(message string) { s.say("%s", message) },
		Warn: func(message string) { s.warn("%s", message) },
	}
}

// run evaluates, resumes an evaluation, or shows a complete one.
func (o *evaluateOptions) run(s *session, words []string) error {
	if len(words) > 0 {
		return usagef("evaluate does not know %s: want plan, show, list, compare or rescore, or flags alone", quoted(words[:1]))
	}
	host := s.evaluationHost()
	benchmark, err := s.openBenchmark(o.benchmark, o.workers)
	if err != nil {
		return err
	}
	subject, err := benchmark.With(o.model)
	if err != nil {
		return err
	}
	ctx, drain, stop := s.drainable("the requests")
	defer stop()
	progress := &evaluationProgress{session: s}
	host.Drain, host.Watch = drain, progress.show
	result, folder, err := subject.Evaluate(ctx, o.request, host)
	progress.end()
	if err != nil {
		return err
	}
	return o.write(s, result, folder)
}

// evaluatePlanOptions are those of evaluate plan.
type evaluatePlanOptions struct {
	benchmark string
	goal      evaluate.Goal
	json      bool
}

func evaluatePlanCommand() command {
	o := new(evaluatePlanOptions)
	return command{
		name:  "plan",
		args:  "--benchmark B --target-se X | --resolve D | --budget b [--from E] [--json]",
		about: "show the budget that a standard error takes, before anything is spent",
		examples: `  speceval evaluate plan --benchmark mine.jsonl --resolve 0.02
  speceval evaluate plan --benchmark aime24 --target-se 0.01 --json > plan.json
`,
		flags: func(fs *pflag.FlagSet) {
			benchmarkFlag(fs, &o.benchmark)
			goalFlags(fs, &o.goal)
			jsonFlag(fs, &o.json, "print one JSON document, for --plan of evaluate")
		},
		run: o.run,
	}
}

// run prints the budget that an error takes.
func (o *evaluatePlanOptions) run(s *session, words []string) error {
	if err := wantWords(words, 0, 0, "nothing"); err != nil {
		return err
	}
	benchmark, err := s.openBenchmark(o.benchmark, nil)
	if err != nil {
		return err
	}
	ctx, stop := s.interruptible()
	defer stop()
	p, err := benchmark.Plan(ctx, o.goal)
	if err != nil {
		return err
	}
	if o.json {
		return writeJSON(s.stdout, p)
	}
	return p.Text(s.stdout)
}

func evaluateShowCommand() command {
	o := new(shownResult)
	return command{
		name:  "show",
		args:  "E [--json] [--all]",
		about: "show the result of an evaluation again",
		examples: `  speceval evaluate show mine/a/hbn-async-b16-seed42
  speceval evaluate show mine/a/hbn-async-b16-seed42 --all   every task
`,
		flags:    o.flags,
		complete: completeEvaluations,
		run:      o.run,
	}
}

// run prints a result again.
func (o *shownResult) run(s *session, words []string) error {
	if err := wantWords(words, 1, 1, "an evaluation"); err != nil {
		return err
	}
	cfg, err := s.evaluationConfig(nil)
	if err != nil {
		return err
	}
	r, folder, err := evaluate.Stored(cfg.Experiment.Out, words[0])
	if err != nil {
		return err
	}
	return o.write(s, r, folder)
}

// evaluateListOptions are those of evaluate list.
type evaluateListOptions struct{ json bool }

func evaluateListCommand() command {
	o := new(evaluateListOptions)
	return command{
		name:     "list",
		args:     "[--json]",
		about:    "list the evaluations in the output folder",
		examples: "  speceval evaluate list\n  speceval evaluate list --json   one JSON document\n",
		flags:    func(fs *pflag.FlagSet) { jsonFlag(fs, &o.json, "print one JSON document") },
		run:      o.run,
	}
}

// run lists the evaluations in the output folder.
func (o *evaluateListOptions) run(s *session, words []string) error {
	if err := wantWords(words, 0, 0, "nothing"); err != nil {
		return err
	}
	cfg, err := s.evaluationConfig(nil)
	if err != nil {
		return err
	}
	all, err := evaluate.List(cfg.Experiment.Out)
	if err != nil {
		return err
	}
	if o.json {
		return writeJSON(s.stdout, all)
	}
	return evaluate.WriteList(s.stdout, all, cfg.Experiment.Out)
}

// evaluateCompareOptions are those of evaluate compare.
type evaluateCompareOptions struct {
	resolve float64 // difference to find; 0: none
	json    bool
}

func evaluateCompareCommand() command {
	o := new(evaluateCompareOptions)
	return command{
		name:  "compare",
		args:  "E E [--resolve D] [--json]",
		about: "show the difference of two evaluations, and what would resolve it",
		examples: `  speceval evaluate compare mine/a/hbn-async-b16-seed42 mine/b/hbn-async-b16-seed42
  speceval evaluate compare --resolve 0.01 mine/a/hbn-async-b16-seed42 mine/b/hbn-async-b16-seed42
`,
		flags: func(fs *pflag.FlagSet) {
			fs.Float64Var(&o.resolve, "resolve", 0, "show the budgets that find a difference of `D`, too")
			jsonFlag(fs, &o.json, "print one JSON document")
		},
		complete: completeEvaluations,
		run:      o.run,
	}
}

// run prints the difference of two evaluations.
func (o *evaluateCompareOptions) run(s *session, words []string) error {
	if err := wantWords(words, 2, 2, "two evaluations"); err != nil {
		return err
	}
	cfg, err := s.evaluationConfig(nil)
	if err != nil {
		return err
	}
	c, err := evaluate.Compare(cfg.Experiment.Out, [2]string(words), o.resolve)
	if err != nil {
		return err
	}
	if o.json {
		return writeJSON(s.stdout, c)
	}
	return c.Text(s.stdout)
}

// evaluateRescoreOptions are those of evaluate rescore.
type evaluateRescoreOptions struct {
	benchmark string // "": that of the evaluation
	shownResult
}

func evaluateRescoreCommand() command {
	o := new(evaluateRescoreOptions)
	return command{
		name:  "rescore",
		args:  "E [--benchmark B] [--json] [--all]",
		about: "score the answers of an evaluation again by the scorers of today",
		examples: `  speceval evaluate rescore mine/a/hbn-async-b16-seed42
  speceval evaluate rescore mine/a/hbn-async-b16-seed42 --benchmark mine.jsonl   its task file, where it is elsewhere
`,
		flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&o.benchmark, "benchmark", "", "the tasks are those of `B`: an id, or a task file")
			o.shownResult.flags(fs)
		},
		complete: completeEvaluations,
		run:      o.run,
	}
}

// run scores the answers of a complete evaluation again.
func (o *evaluateRescoreOptions) run(s *session, words []string) error {
	if err := wantWords(words, 1, 1, "an evaluation"); err != nil {
		return err
	}
	cfg, err := s.evaluationConfig(nil)
	if err != nil {
		return err
	}
	ctx, stop := s.interruptible()
	defer stop()
	r, err := evaluate.Rescore(ctx, cfg, words[0], o.benchmark, s.evaluationHost())
	if err != nil {
		return err
	}
	s.say("before: %.4f ± %.4f", r.Before.Estimate, r.Before.StandardError)
	return o.write(s, r.After, r.Folder)
}

// shownResult is how a result is printed.
type shownResult struct {
	json bool // as one document
	all  bool // with every task
}

func (o *shownResult) flags(fs *pflag.FlagSet) {
	jsonFlag(fs, &o.json, "print one JSON document")
	fs.BoolVar(&o.all, "all", false, "show every task")
}

func (o *shownResult) write(s *session, r *evaluation.Result, folder string) error {
	if o.json {
		return writeJSON(s.stdout, r)
	}
	return evaluate.WriteResult(s.stdout, r, folder, o.all)
}
