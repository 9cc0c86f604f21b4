package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"speceval/internal/display"
	"speceval/internal/evaluation"
	"speceval/internal/evaluation/show"
	"speceval/internal/ledger"
	"speceval/internal/policy"
	"speceval/pipeline/config"
	"speceval/pipeline/evaluate"
)

// asked holds the flags of an evaluation.
type asked struct {
	suite   evaluate.Suite
	model   string
	request evaluation.Spec // but for its tasks
}

func (s *session) evaluateCommand() *cobra.Command {
	var o asked
	c := &cobra.Command{
		Use: "evaluate --benchmark B --model M --budget b", Short: "evaluate a model live: a mean with its error, for an exact budget of rollouts", Args: cobra.NoArgs,
		Long: `Evaluate a model live: a benchmark mean with its error, for an exact budget of rollouts.

B is a benchmark of the configuration, one that is built in, or a task file; M a model of
the configuration, or any name under which the servers serve one; b the average number of
rollouts per task. The same command again goes on where it was stopped, and shows the
result of what is complete. E is an evaluation: its folder, or benchmark/model/name as
list has it.`,
		Example: `  speceval evaluate --benchmark smallbench --model qwen2_5_3b --budget 8
  speceval evaluate --benchmark mine.jsonl --model a --budget 16 --worker http://127.0.0.1:8000
  speceval evaluate --benchmark mine.jsonl --model a --budget 16 --prior mine/b/hbn_staged-b8-seed42
  speceval evaluate --benchmark aime24 --model qwen3_5_4b --target-se 0.01`,
		PreRunE: func(c *cobra.Command, _ []string) error {
			for _, name := range []string{"max-rollouts", "max-tokens", "max-usd"} {
				if limit := c.Flags().Lookup(name); limit.Changed && limit.Value.String() == "0" {
					return usagef("--%s 0: want a positive number; without the flag there is no such limit", name)
				}
			}
			return nil
		},
		RunE: s.configured(func(cfg *config.Config, _ []string) error {
			benchmark, err := s.openBenchmark(cfg, o.suite)
			if err != nil {
				return err
			}
			subject, err := benchmark.With(o.model)
			if err != nil {
				return err
			}
			return s.evaluating(func(ctx context.Context, host evaluate.Host) (*evaluation.Result, string, error) {
				return subject.Evaluate(ctx, o.request, host)
			})
		}),
	}
	s.askedFlags(c, &o)
	c.AddCommand(s.evaluatePlanCommand(), s.showCommand(), s.listCommand(), s.compareCommand("speceval evaluate"),
		s.rescoreCommand(), s.extendCommand(), s.poolCommand(), s.gateCommand())
	return c
}

func (s *session) askedFlags(c *cobra.Command, o *asked) {
	fs, r := c.Flags(), &o.request
	suiteFlags(fs, &o.suite)
	fs.StringVar(&o.model, "model", "", "evaluate `M`: an id, or the name that servers give it")
	fs.StringVar(&r.Policy, "policy", "", "one of "+strings.Join(policy.ExecutionNames(), ", ")+": `P` (hbn_staged; with donors hbn_informed_staged)")
	fs.IntVar(&r.Stages, "stages", 0, "have `K` stages, the pilot among them, in the place of what suits rollouts per place at the servers")
	seedFlag(fs, &r.Seed, "the seed of all rollouts, `S` (experiment.seed); another one is another evaluation")
	fs.StringVar(&r.OnLoss, "on-loss", "", "answers that are lost under way: `RULE` continue (go on from what was seen, ask again where no server can), again, or refuse (pause rather than ask again); serving.on_loss")
	goalFlags(fs, r)
	fs.Func("floor", "with a --budget, every benchmark of a suite has `F` rollouts per task at least (two thirds of the budget); 0: no floor", func(text string) error {
		floor, err := strconv.ParseFloat(text, 64)
		r.Floor = &floor
		return err
	})
	fs.IntSliceVar(&r.PassK, "pass-k", nil, "estimate pass@k and pass^k for these `K`s, too, with as many rollouts of every task as that takes")
	fs.IntVar(&r.MaxRollouts, "max-rollouts", 0, "spend `R` rollouts in all at most, alone or with --target-se; nothing is asked ahead of its selection then")
	fs.Int64Var(&r.MaxTokens, "max-tokens", 0, "spend `T` tokens of all answers at most, discarded and aborted ones too, alone or with --target-se; nothing is asked ahead of its selection then")
	fs.Float64Var(&r.MaxDollars, "max-usd", 0, "spend `D` dollars at most, by --price, in the place of --max-tokens")
	fs.StringVar(&r.Plan, "plan", "", "take the budget from `FILE`, which evaluate plan --json wrote")
	s.workerFlag(c)
	s.resultFlags(c)
}

func (s *session) workerFlag(c *cobra.Command) {
	c.Flags().StringArrayVar(&s.workers, "worker", nil, "ask the server at `URL`, in the place of the configured workers; URL,key_env=NAME: with the key in the environment variable NAME; may be repeated")
}

// resultFlags say how a result is printed.
func (s *session) resultFlags(c *cobra.Command) {
	s.jsonFlag(c)
	s.allFlag(c, "show every task")
}

// suiteFlags define the flags that name benchmarks.
func suiteFlags(fs *pflag.FlagSet, s *evaluate.Suite) {
	fs.StringArrayVar(&s.Names, "benchmark", nil, "evaluate on `B`: an id, or a task file; several are a suite under one budget")
	fs.Func("weight", "of the benchmarks of a suite, in their order, the mean has weights `W`: numbers, macro (alike, as without the flag), or micro (all tasks alike)", func(text string) error {
		s.Micro = text == "micro"
		if s.Micro || text == "macro" {
			s.Weights = nil
			return nil
		}
		for word := range strings.SplitSeq(text, ",") {
			w, err := strconv.ParseFloat(word, 64)
			if err != nil {
				return fmt.Errorf("%q: want a number, macro or micro", word)
			}
			s.Weights = append(s.Weights, w)
		}
		return nil
	})
}

// goalFlags define what is to be spent or reached.
func goalFlags(fs *pflag.FlagSet, g *evaluation.Spec) {
	fs.IntVar(&g.Budget, "budget", 0, "spend `b` rollouts per task on average, at least 2")
	fs.Float64Var(&g.TargetSE, "target-se", 0, "in the place of --budget: as many as it takes for a standard error of `X`")
	fs.Float64Var(&g.Resolve, "resolve", 0, "in the place of --budget: as many as it takes to tell two models apart that differ by `D`")
	fs.StringVar(&g.From, "from", "", "plan by what the evaluation `E` found, and not by the prior")
	fs.Func("price", "tokens of prompts and of answers cost `IN/OUT` dollars per million, such as 0.15/0.60", func(text string) (err error) {
		g.Price, err = ledger.ParsePrice(text)
		return err
	})
	fs.StringArrayVar(&g.Prior, "prior", nil, "know the tasks from `SOURCE`: an evaluation, a log, or a file of profiles (FILE#MODEL: one model's); may be repeated")
	fs.StringVar(&g.Reward, "reward", "", "the rewards of a log that --prior names are by scorer, metric or field `S`")
	fs.BoolVar(&g.OtherPrompts, "other-prompts", false, "let --prior be evaluations that asked other prompts")
}

// archive is the stored evaluations, and warns of files that are not as they were made.
func (s *session) archive(cfg *config.Config) evaluate.Archive {
	return evaluate.Archive{Config: cfg, Warn: func(message string) { s.warn("%s", message) }}
}

// evaluateOutside is this program around allocations that others run.
func (s *session) evaluateOutside(cfg *config.Config) evaluate.Outside {
	return evaluate.Outside{Context: context.Background(), Config: cfg, Say: func(text string) { s.say("%s", text) }}
}

// openBenchmark reads the tasks of a benchmark or several.
func (s *session) openBenchmark(cfg *config.Config, suite evaluate.Suite) (*evaluate.Benchmark, error) {
	b, err := evaluate.OpenSuite(cfg, suite)
	if err == nil {
		b.Warn = s.archive(cfg).Warn
	}
	return b, err
}

// host is this program around an evaluation.
func (s *session) host() evaluate.Host {
	return evaluate.Host{
		Outside: s.outside(), Holder: s.holder(), Commit: s.origin.Commit, Began: s.now(),
		Say:  func(message string) { s.say("%s", display.EscapedLine(message)) },
		Warn: func(message string) { s.warn("%s", display.EscapedLine(message)) },
	}
}

// watched is a host that shows its progress, and its context, which an interrupt ends.
// stop takes the progress away.
func (s *session) watched() (host evaluate.Host, ctx context.Context, stop func()) {
	host = s.host()
	bar := s.console().Evaluation()
	ctx, drain, end := s.drainable(draining("the requests"))
	host.Drain, host.Watch = drain, bar.Show
	return host, ctx, sync.OnceFunc(func() { bar.End(); end() })
}

// evaluating evaluates under a watched host and prints the result.
func (s *session) evaluating(run func(context.Context, evaluate.Host) (*evaluation.Result, string, error)) error {
	host, ctx, stop := s.watched()
	defer stop()
	result, folder, err := run(ctx, host)
	stop()
	if err != nil {
		return err
	}
	return s.printResult(result, folder)
}

// printResult prints the result of an evaluation, which is in a folder.
func (s *session) printResult(r *evaluation.Result, folder string) error {
	return s.printAs(r, func(w io.Writer) error { return show.Text(w, r, folder, s.all) })
}

// ofPlans are flags of a plan that an evaluation of its budget goes without.
var ofPlans = []string{"budget", "target-se", "resolve", "from", "json", "quiet"}

// commandLine is the command line of an evaluation with the budget of a plan.
func (s *session) commandLine(flags *pflag.FlagSet, budget int) string {
	line := "speceval evaluate"
	flags.ParseAll(s.args, func(f *pflag.Flag, value string) error {
		if !slices.Contains(ofPlans, f.Name) {
			line += " --" + f.Name + "=" + display.ShellWord(value)
		}
		return nil
	})
	if !flags.Changed("model") {
		line += " --model MODEL"
	}
	return fmt.Sprintf("%s --budget %d", line, budget)
}

func (s *session) evaluatePlanCommand() *cobra.Command {
	var suite evaluate.Suite
	var goal evaluation.Spec
	var c *cobra.Command
	c = &cobra.Command{
		Use: "plan --benchmark B --target-se X", Short: "show the budget that a standard error takes, its tokens, cost and command", Args: cobra.NoArgs,
		Example: `  speceval evaluate plan --benchmark mine.jsonl --resolve 0.02
  speceval evaluate plan --benchmark mine.jsonl --budget 16 --prior mine/b/hbn_staged-b16-seed42
  speceval evaluate plan --benchmark aime24 --target-se 0.01 --json > plan.json`,
		RunE: s.configured(func(cfg *config.Config, _ []string) error {
			benchmark, err := s.openBenchmark(cfg, suite)
			if err != nil {
				return err
			}
			p, err := benchmark.Plan(context.Background(), goal)
			if err != nil {
				return err
			}
			p.Command = s.commandLine(c.Flags(), p.Budget)
			return s.print(p)
		}),
	}
	suiteFlags(c.Flags(), &suite)
	c.Flags().StringVar(&goal.Model, "model", "", "by the lengths of answers of `M`, where it has some")
	goalFlags(c.Flags(), &goal)
	s.workerFlag(c)
	s.jsonFlag(c)
	return c
}
