package main

import (
	"flag"
	"strconv"

	"speceval/internal/evaluation"
	"speceval/pipeline/config"
	"speceval/pipeline/evaluate"
)

// evaluateOptions are those of an evaluation itself. Those of the subcommands are
// taken from the same flags.
type evaluateOptions struct {
	benchmark, model string
	workers          []string // in place of the configured ones
	request          evaluate.Request
	shownResult
}

func evaluateCommand() command {
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
		flags: evaluateFlags,
		run:   runEvaluate,
	}
}

func evaluateFlags(fs *flag.FlagSet, o *options) {
	e := &o.evaluate
	r := &e.request
	fs.StringVar(&e.benchmark, "benchmark", "", "evaluate on `B`: an id, or a task file")
	fs.StringVar(&e.model, "model", "", "evaluate `M`: an id, or the name that servers give it")
	fs.IntVar(&r.Budget, "budget", 0, "spend `b` rollouts per task on average, at least 2")
	fs.StringVar(&r.Policy, "policy", "hbn-async", "hbn-async, hbn-sync or uniform: `P`")
	fs.Func("worker", "ask the server at `URL`, in the place of the configured workers; may be repeated", func(url string) error {
		e.workers = append(e.workers, url)
		return nil
	})
	fs.Func("seed", "the seed of all rollouts, `S` (experiment.seed); another one is another evaluation", func(text string) error {
		n, err := strconv.ParseUint(text, 10, 64)
		r.Seed = &n
		return err
	})
	fs.Float64Var(&r.TargetSE, "target-se", 0, "in the place of --budget: the least that has a standard error of `X`")
	fs.Float64Var(&r.Resolve, "resolve", 0, "in the place of --budget: the least by which two models are told apart that differ by `D`")
	fs.StringVar(&r.From, "from", "", "plan by what the evaluation `E` found, and not by the prior")
	fs.StringVar(&r.Plan, "plan", "", "take the budget from `FILE`, which evaluate plan --json wrote")
	fs.BoolVar(&o.json, "json", false, "print one JSON document")
	fs.BoolVar(&o.all, "all", false, "show every task")
}

func runEvaluate(s *session, words []string) error {
	e := s.evaluate
	e.shownResult = shownResult{json: s.json, all: s.all}
	if len(words) == 0 {
		return runEvaluation(s, e)
	}
	sub, words := words[0], words[1:]
	switch sub {
	case "plan":
		return runEvaluatePlan(s, evaluatePlanOptions{benchmark: e.benchmark, goal: e.request.Goal, json: s.json}, words)
	case "show":
		return runEvaluateShow(s, e.shownResult, words)
	case "list":
		return runEvaluateList(s, s.json, words)
	case "compare":
		return runEvaluateCompare(s, evaluateCompareOptions{resolve: e.request.Resolve, json: s.json}, words)
	case "rescore":
		return runEvaluateRescore(s, evaluateRescoreOptions{benchmark: e.benchmark, shownResult: e.shownResult}, words)
	}
	return usagef("evaluate does not know %s: want plan, show, list, compare or rescore, or flags alone", quoted([]string{sub}))
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

// runEvaluation evaluates, resumes an evaluation, or shows a complete one.
func runEvaluation(s *session, o evaluateOptions) error {
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

// runEvaluatePlan prints the budget that an error takes.
func runEvaluatePlan(s *session, o evaluatePlanOptions, words []string) error {
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

// runEvaluateShow prints a result again.
func runEvaluateShow(s *session, shown shownResult, words []string) error {
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
	return shown.write(s, r, folder)
}

// runEvaluateList lists the evaluations in the output folder.
func runEvaluateList(s *session, json bool, words []string) error {
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
	if json {
		return writeJSON(s.stdout, all)
	}
	return evaluate.WriteList(s.stdout, all, cfg.Experiment.Out)
}

// evaluateCompareOptions are those of evaluate compare.
type evaluateCompareOptions struct {
	resolve float64 // difference to find; 0: none
	json    bool
}

// runEvaluateCompare prints the difference of two evaluations.
func runEvaluateCompare(s *session, o evaluateCompareOptions, words []string) error {
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

// runEvaluateRescore scores the answers of a complete evaluation again.
func runEvaluateRescore(s *session, o evaluateRescoreOptions, words []string) error {
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

func (o shownResult) write(s *session, r *evaluation.Result, folder string) error {
	if o.json {
		return writeJSON(s.stdout, r)
	}
	return evaluate.WriteResult(s.stdout, r, folder, o.all)
}
