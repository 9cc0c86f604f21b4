package main

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"speceval/internal/display"
	"speceval/internal/policy"
	"speceval/pipeline/config"
	"speceval/pipeline/evaluate"
)

// evaluateOptions are the flags of an evaluation.
type evaluateOptions struct {
	suite   evaluate.Suite
	model   string
	workers []string // in place of the configured ones
	request evaluate.Request
	shownResult
}

func evaluateCommand() command {
	o := new(evaluateOptions)
	return command{
		name: "evaluate",
		args: "--benchmark B --model M --budget b [--prior SOURCE]… | plan | show E | list | compare E E | rescore E | extend E | pool E E | gate E E",
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
  rescore  score the answers again by the scorers of today
  extend   add rollouts to a complete evaluation
  pool     join evaluations of one model into one estimate
  gate     is a model no worse than a baseline by a margin? exit 4 unless it passes`,
		examples: `  speceval evaluate --benchmark smallbench --model qwen2_5_3b --budget 8
  speceval evaluate --benchmark mine.jsonl --model my-model --budget 16 --worker http://127.0.0.1:8000
  speceval evaluate --benchmark mine.jsonl --model my-model --budget 16 --prior mine/older/hbn_staged-b16-seed42
  speceval evaluate --benchmark aime24 --model qwen3_5_4b --target-se 0.01
  speceval evaluate plan --benchmark mine.jsonl --resolve 0.02
  speceval evaluate compare mine/a/hbn_staged-b16-seed42 mine/b/hbn_staged-b16-seed42
`,
		flags: o.flags,
		run:   o.run,
		subs: []command{
			evaluatePlanCommand(), evaluateShowCommand(), evaluateListCommand(), evaluateCompareCommand(), evaluateRescoreCommand(),
			evaluateExtendCommand(), evaluatePoolCommand(), evaluateGateCommand(),
		},
	}
}

func (o *evaluateOptions) flags(fs *pflag.FlagSet) {
	r := &o.request
	suiteFlags(fs, &o.suite)
	fs.StringVar(&o.model, "model", "", "evaluate `M`: an id, or the name that servers give it")
	fs.StringVar(&r.Policy, "policy", "", "one of "+strings.Join(policy.ExecutionNames(), ", ")+": `P` (hbn_staged; with donors hbn_informed_staged)")
	fs.IntVar(&r.Stages, "stages", 0, "have `K` stages, the pilot among them, in the place of what suits rollouts per place at the servers")
	workerFlag(fs, &o.workers)
	seedFlag(fs, &r.Seed, "the seed of all rollouts, `S` (experiment.seed); another one is another evaluation")
	fs.StringVar(&r.OnLoss, "on-loss", "", "answers that are lost under way: `RULE` continue (go on from what was seen, ask again where no server can), again, or refuse (pause rather than ask again); serving.on_loss")
	goalFlags(fs, &r.Goal)
	fs.IntSliceVar(&r.PassK, "pass-k", nil, "estimate pass@k and pass^k for these `K`s, too, with as many rollouts of every task as that takes")
	fs.IntVar(&r.MostRollouts, "max-rollouts", 0, "spend `R` rollouts in all at most, alone or with --target-se; nothing is asked ahead of its selection then")
	fs.Int64Var(&r.MostTokens, "max-tokens", 0, "spend `T` tokens of all answers at most, discarded and aborted ones too, alone or with --target-se; nothing is asked ahead of its selection then")
	fs.StringVar(&r.Plan, "plan", "", "take the budget from `FILE`, which evaluate plan --json wrote")
	o.shownResult.flags(fs)
}

// workerFlag defines the flag that names servers.
func workerFlag(fs *pflag.FlagSet, workers *[]string) {
	fs.StringArrayVar(workers, "worker", nil, "ask the server at `URL`, in the place of the configured workers; URL,key_env=NAME: with the key in the environment variable NAME; may be repeated")
}

// suiteFlags define the flags that name benchmarks.
func suiteFlags(fs *pflag.FlagSet, s *evaluate.Suite) {
	fs.StringArrayVar(&s.Names, "benchmark", nil, "evaluate on `B`: an id, or a task file; several are a suite under one budget")
	fs.Func("weight", "of the benchmarks of a suite, in their order, the mean has weights `W` (alike)", func(text string) error {
		w, err := strconv.ParseFloat(text, 64)
		s.Weights = append(s.Weights, w)
		return err
	})
}

// storedBenchmarkFlag defines the flag that names the benchmarks of an evaluation.
func storedBenchmarkFlag(fs *pflag.FlagSet, names *[]string) {
	fs.StringArrayVar(names, "benchmark", nil, "the tasks are those of `B`: an id, or a task file; of a suite all, in their order")
}

// goalFlags define what is to be spent or reached.
func goalFlags(fs *pflag.FlagSet, g *evaluate.Goal) {
	fs.IntVar(&g.Budget, "budget", 0, "spend `b` rollouts per task on average, at least 2")
	fs.Float64Var(&g.TargetSE, "target-se", 0, "in the place of --budget: as many as it takes for a standard error of `X`")
	fs.Float64Var(&g.Resolve, "resolve", 0, "in the place of --budget: as many as it takes to tell two models apart that differ by `D`")
	fs.StringVar(&g.From, "from", "", "plan by what the evaluation `E` found, and not by the prior")
	fs.StringArrayVar(&g.Sources, "prior", nil, "know the tasks from `SOURCE`: an evaluation, a log, or a file of profiles (FILE#MODEL: one model's); may be repeated")
	fs.StringVar(&g.Reward, "reward", "", "the rewards of a log that --prior names are by scorer, metric or field `S`")
	fs.BoolVar(&g.OtherPrompts, "other-prompts", false, "let --prior be evaluations that asked other prompts")
}

// evaluationConfig reads the configuration of an evaluation, with these servers
// in place of its workers if there are any.
func (s *session) evaluationConfig(workers []string) (*config.Config, error) {
	return evaluate.Configuration(evaluate.Options{
		Config: s.config, Optional: s.config == defaultConfig, Sets: s.sets, Out: s.out, Workers: workers,
	})
}

// openBenchmark reads the configuration and the tasks of a benchmark or several.
func (s *session) openBenchmark(suite evaluate.Suite, workers []string) (*evaluate.Benchmark, error) {
	cfg, err := s.evaluationConfig(workers)
	if err != nil {
		return nil, err
	}
	b, err := evaluate.OpenSuite(cfg, suite)
	if err == nil {
		b.Warn = s.archive(cfg).Warn
	}
	return b, err
}

// archive is the stored evaluations, of which what is not as it was made is warned of.
func (s *session) archive(cfg *config.Config) evaluate.Archive {
	return evaluate.Archive{Config: cfg, Warn: func(message string) { s.warn("%s", message) }}
}

// evaluationHost is this program around an evaluation.
func (s *session) evaluationHost() evaluate.Host {
	return evaluate.Host{
		Outside: s.outside(), Holder: s.holder(), Commit: s.origin.Commit, Began: s.now(),
		Say:  func(message string) { s.say("%s", display.EscapedLine(message)) },
		Warn: func(message string) { s.warn("%s", display.EscapedLine(message)) },
	}
}

// evaluating is this program around an evaluation that shows its progress, and its
// context, which an interrupt ends. stop takes the progress away.
func (s *session) evaluating() (host evaluate.Host, ctx context.Context, stop func()) {
	host = s.evaluationHost()
	bar := s.console().Evaluation()
	ctx, drain, end := s.drainable("the requests")
	host.Drain, host.Watch = drain, bar.Show
	return host, ctx, sync.OnceFunc(func() { bar.End(); end() })
}

// run evaluates, resumes an evaluation, or shows a complete one.
func (o *evaluateOptions) run(s *session, words []string) error {
	if len(words) > 0 {
		return usagef("evaluate does not know %s: want plan, show, list, compare, rescore, extend, pool or gate, or flags alone", quoted(words[:1]))
	}
	benchmark, err := s.openBenchmark(o.suite, o.workers)
	if err != nil {
		return err
	}
	subject, err := benchmark.With(o.model)
	if err != nil {
		return err
	}
	host, ctx, stop := s.evaluating()
	defer stop()
	result, folder, err := subject.Evaluate(ctx, o.request, host)
	stop()
	if err != nil {
		return err
	}
	return o.write(s, result, folder)
}

func evaluatePlanCommand() command {
	o, suite, goal := new(jsonOption), evaluate.Suite{}, evaluate.Goal{}
	return command{
		name:  "plan",
		args:  "--benchmark B --target-se X | --resolve D | --budget b [--prior SOURCE]… [--from E] [--json]",
		about: "show the budget that a standard error takes, before anything is spent",
		examples: `  speceval evaluate plan --benchmark mine.jsonl --resolve 0.02
  speceval evaluate plan --benchmark mine.jsonl --budget 16 --prior mine/older/hbn_staged-b16-seed42
  speceval evaluate plan --benchmark aime24 --target-se 0.01 --json > plan.json
`,
		flags: func(fs *pflag.FlagSet) {
			suiteFlags(fs, &suite)
			goalFlags(fs, &goal)
			o.flags(fs)
		},
		run: func(s *session, words []string) error {
			if err := wantWords(words, 0, 0, "nothing"); err != nil {
				return err
			}
			benchmark, err := s.openBenchmark(suite, nil)
			if err != nil {
				return err
			}
			ctx, stop := s.interruptible()
			defer stop()
			p, err := benchmark.Plan(ctx, goal)
			if err != nil {
				return err
			}
			return o.write(s, p)
		},
	}
}
