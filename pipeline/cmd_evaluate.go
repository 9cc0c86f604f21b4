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

	"speceval/internal/evaluation"
	"speceval/internal/evaluation/ledger"
	"speceval/internal/evaluation/show"
	"speceval/internal/policy"
	"speceval/internal/terminal/display"
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
		Use: "evaluate --benchmark B --model M --budget b", Short: "evaluate a model: a mean with its error, for an exact budget of rollouts", Args: cobra.NoArgs,
		Long: `Evaluate a model: a benchmark mean with its error, for an exact budget of rollouts.

B is a configured or built-in benchmark, or a task file; M a configured model, or its name
at the servers; b the average number of rollouts per task. The same command again resumes,
and shows the result when it is complete. E is an evaluation: its folder, or
benchmark/model/name as in the list. docs/evaluate.md has all of it.`,
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
			benchmark, err := s.archive(cfg).OpenSuite(o.suite)
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
	coupledFlag(c.Flags(), &o.request)
	c.AddCommand(s.evaluatePlanCommand(), s.showCommand(), s.listCommand(), s.compareCommand("speceval evaluate"),
		s.rescoreCommand(), s.extendCommand(), s.poolCommand(), s.gateCommand(), s.rankCommand())
	return c
}

func (s *session) askedFlags(c *cobra.Command, o *asked) {
	fs, r := c.Flags(), &o.request
	suiteFlags(fs, &o.suite)
	fs.StringVar(&o.model, "model", "", "evaluate `M`: an id, or the name that servers give it")
	fs.StringVar(&r.Policy, "policy", "", "use `P`: "+strings.Join(policy.ExecutionNames(), ", "))
	fs.IntVar(&r.Stages, "stages", 0, "use `K` stages including the pilot (by rollouts per place)")
	seedFlag(fs, &r.Seed, "seed `S` of all rollouts (experiment.seed)")
	lossFlag(fs, r)
	goalFlags(fs, r)
	fs.Func("floor", "at least `F` rollouts a task of each benchmark (2/3 of b)", func(text string) error {
		floor, err := strconv.ParseFloat(text, 64)
		r.Floor = &floor
		return err
	})
	fs.IntSliceVar(&r.PassK, "pass-k", nil, "estimate pass@k and pass^k for these `K`s, too")
	fs.IntVar(&r.MaxRollouts, "max-rollouts", 0, "spend at most `R` rollouts in all")
	fs.Int64Var(&r.MaxTokens, "max-tokens", 0, "spend at most `T` tokens of all answers, discarded ones too")
	fs.Float64Var(&r.MaxDollars, "max-usd", 0, "spend at most `D` dollars, by --price")
	s.workerFlag(c)
	s.resultFlags(c)
}

func coupledFlag(fs *pflag.FlagSet, r *evaluation.Spec) {
	fs.BoolVar(&r.Coupled, "coupled", false, "give rollouts of all models the same seeds, for compare")
}

func lossFlag(fs *pflag.FlagSet, r *evaluation.Spec) {
	fs.StringVar(&r.OnLoss, "on-loss", "", "lost answers: `RULE` continue, again, refuse")
}

func priceFlag(fs *pflag.FlagSet, r *evaluation.Spec) {
	fs.Func("price", "prices of prompt and answer tokens, `IN/OUT` dollars a million", func(text string) (err error) {
		r.Price, err = ledger.ParsePrice(text)
		return err
	})
}

func (s *session) workerFlag(c *cobra.Command) {
	c.Flags().StringArrayVar(&s.workers, "worker", nil, "use the server at `URL`, or URL,key_env=NAME; repeatable")
}

// resultFlags say how a result is printed.
func (s *session) resultFlags(c *cobra.Command) {
	s.jsonFlag(c)
	s.allFlag(c, "show every task")
}

// suiteFlags define the flags that name benchmarks.
func suiteFlags(fs *pflag.FlagSet, s *evaluate.Suite) {
	fs.StringArrayVar(&s.Names, "benchmark", nil, "evaluate on `B`, an id or task file; several are a suite")
	fs.Func("weight", "weigh benchmarks by `W`: a number each, macro or micro", func(text string) error {
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
	fs.Float64Var(&g.TargetSE, "target-se", 0, "spend what a standard error of `X` is expected to take")
	fs.Float64Var(&g.Resolve, "resolve", 0, "spend what finding a difference of `D` is expected to take")
	priceFlag(fs, g)
	fs.StringArrayVar(&g.Prior, "prior", nil, "results of the tasks, `SOURCE` (an evaluation, log, profiles)")
	fs.StringVar(&g.Reward, "reward", "", "take rewards of logs by scorer, metric or field `S`")
}

// archive is the stored evaluations, and warns of files that are not as they were made.
func (s *session) archive(cfg *config.Config) evaluate.Archive {
	return evaluate.Archive{Config: cfg, Warn: func(message string) { s.warn("%s", message) }}
}

// evaluateOutside is this program around allocations that others run.
func (s *session) evaluateOutside(cfg *config.Config) evaluate.Archive {
	return evaluate.Archive{Config: cfg, Warn: func(text string) { s.say("%s", text) }}
}

// host is this program around an evaluation.
func (s *session) host() evaluate.Host {
	return evaluate.Host{
		Outside: s.outside(), Holder: s.holder(),
		Host: evaluation.Host{Commit: s.origin.Commit, Began: s.now(), Say: func(message string) { s.say("%s", display.EscapedLine(message)) }},
		Warn: func(message string) { s.warn("%s", display.EscapedLine(message)) },
	}
}

// watched is a host that shows its progress, and its context, which an interrupt ends.
// stop takes the progress away.
func (s *session) watched() (host evaluate.Host, ctx context.Context, stop func()) {
	host = s.host()
	bar := show.NewProgress(s.console())
	ctx, drain, end := s.drainable(draining("the requests"))
	host.Drain, host.Watch = drain, bar.Take
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
var ofPlans = []string{"budget", "target-se", "resolve", "json", "quiet"}

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
		Use: "plan --benchmark B --target-se X", Short: "show the budget, tokens, cost and command that a standard error takes", Args: cobra.NoArgs,
		Example: `  speceval evaluate plan --benchmark mine.jsonl --resolve 0.02
  speceval evaluate plan --benchmark mine.jsonl --budget 16 --prior mine/b/hbn_staged-b16-seed42
  speceval evaluate plan --benchmark aime24 --target-se 0.01 --json`,
		RunE: s.configured(func(cfg *config.Config, _ []string) error {
			benchmark, err := s.archive(cfg).OpenSuite(suite)
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
	c.Flags().StringVar(&goal.Model, "model", "", "plan by the lengths of answers of `M`, where known")
	goalFlags(c.Flags(), &goal)
	s.workerFlag(c)
	s.jsonFlag(c)
	return c
}
