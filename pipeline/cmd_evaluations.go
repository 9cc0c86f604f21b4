package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"speceval/internal/evaluation"
	"speceval/pipeline/config"
	"speceval/pipeline/evaluate"
)

// ofStored is a command on stored evaluations, the words of which run gets.
func (s *session) ofStored(use, short string, args cobra.PositionalArgs, run func(evaluate.Archive, []string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: args,
		RunE: s.configured(func(cfg *config.Config, words []string) error { return run(s.archive(cfg), words) }),
	}
}

// printed is a command on stored evaluations that prints what it makes of them.
func printed[T texter](s *session, use, short string, args cobra.PositionalArgs, make func(evaluate.Archive, []string) (T, error)) *cobra.Command {
	return s.jsonFlag(s.ofStored(use, short, args, func(a evaluate.Archive, words []string) error {
		made, err := make(a, words)
		if err != nil {
			return err
		}
		return s.print(made)
	}))
}

func (s *session) showCommand() *cobra.Command {
	c := s.ofStored("show E", "show the result of an evaluation again", cobra.ExactArgs(1), func(a evaluate.Archive, words []string) error {
		e, err := a.Stored(words[0])
		if err != nil {
			return err
		}
		return s.printResult(e.Result, e.Folder)
	})
	c.Example = "  speceval evaluate show mine/a/hbn_staged-b16-seed42 --all   every task"
	s.resultFlags(c)
	return c
}

func (s *session) listCommand() *cobra.Command {
	c := printed(s, "list", "list the evaluations in the output folder", cobra.NoArgs, func(a evaluate.Archive, _ []string) (evaluate.Lists, error) { return a.Reader().List() })
	c.Example = "  speceval evaluate list --json   one JSON document"
	return c
}

func (s *session) poolCommand() *cobra.Command {
	c := printed(s, "pool E E…", "join evaluations of one model under different seeds into one estimate", cobra.MinimumNArgs(2), evaluate.Archive.Pool)
	c.Example = "  speceval evaluate pool mine/a/hbn_staged-b16-seed1 mine/a/hbn_staged-b16-seed2"
	return c
}

// benchmarksFlag defines the flag that names the benchmarks of an evaluation; none: those
// that it names.
func benchmarksFlag(c *cobra.Command, names *[]string) {
	c.Flags().StringArrayVar(names, "benchmark", nil, "tasks of `B`, an id or task file; of a suite all, in order")
}

func (s *session) rescoreCommand() *cobra.Command {
	var benchmarks []string
	c := s.ofStored("rescore E", "score the answers of an evaluation again by the scorers of today", cobra.ExactArgs(1), func(a evaluate.Archive, words []string) error {
		ctx, stop := s.interruptible()
		defer stop()
		before, after, err := evaluate.Rescore(ctx, a.Config, words[0], benchmarks, s.host())
		if err != nil {
			return err
		}
		s.say("before: %.4f ± %.4f", before.Result.Estimate, before.Result.StandardError)
		return s.printResult(after, before.Folder)
	})
	c.Example = "  speceval evaluate rescore mine/a/hbn_staged-b16-seed42 --benchmark moved/mine.jsonl"
	benchmarksFlag(c, &benchmarks)
	s.resultFlags(c)
	return c
}

func (s *session) extendCommand() *cobra.Command {
	var benchmarks []string
	budget := 0
	c := s.ofStored("extend E --budget b", "add rollouts to a complete evaluation, where they help most by what it has found", cobra.ExactArgs(1), func(a evaluate.Archive, words []string) error {
		return s.evaluating(func(ctx context.Context, host evaluate.Host) (*evaluation.Result, string, error) {
			return evaluate.Extend(ctx, a.Config, words[0], benchmarks, budget, host)
		})
	})
	c.Example = "  speceval evaluate extend mine/a/hbn_staged-b16-seed42 --budget 32"
	c.Flags().IntVar(&budget, "budget", 0, "have `b` rollouts per task on average in the end")
	benchmarksFlag(c, &benchmarks)
	s.workerFlag(c)
	s.resultFlags(c)
	return c
}

func (s *session) gateCommand() *cobra.Command {
	var (
		gating evaluate.Gating
		live   bool
		o      asked
	)
	c := s.ofStored("gate [E] BASELINE --no-worse-than D", "ask whether a model is no worse than a baseline by a margin; exit 4 if not", nil, func(a evaluate.Archive, words []string) error {
		if err := gating.Check(); err != nil {
			return err
		}
		g, err := s.gate(a, words, gating, live, o)
		if err != nil {
			return err
		}
		if err := s.print(g); err != nil {
			return err
		}
		if !g.Passed() {
			return fmt.Errorf("%w: %s", errOutside, g.Outcome)
		}
		return nil
	})
	c.Args = func(c *cobra.Command, words []string) error {
		if !c.Flags().Changed("no-worse-than") {
			return usagef("say by how much the model may be worse: --no-worse-than")
		}
		if live {
			return cobra.ExactArgs(1)(c, words)
		}
		return cobra.ExactArgs(2)(c, words)
	}
	c.Long = `Ask whether a model is no worse than a baseline by a margin, with stated error rates; exit
4 unless it passes. E and BASELINE are evaluations, logs of harnesses, or files that show
--json has printed. With --live the model is evaluated until that is decided, or unlikely to be.`
	c.Example = `  speceval evaluate gate mine/new/hbn_staged-b16-seed42 baseline.json --no-worse-than 0.02
  speceval evaluate gate baseline.json --live --model new --budget 32 --no-worse-than 0.02`
	fs := c.Flags()
	fs.Float64Var(&gating.Margin, "no-worse-than", 0, "pass a model that is worse by less than `D` (0.02: two points)")
	fs.BoolVar(&gating.OverTasks, "over-tasks", false, "decide for what the tasks are a sample of")
	fs.BoolVar(&live, "live", false, "evaluate until decided: up to 13 looks, up to --budget")
	s.askedFlags(c, &o)
	return c
}

// gate asks the question of two evaluations, or evaluates until it is answered.
func (s *session) gate(a evaluate.Archive, words []string, gating evaluate.Gating, live bool, o asked) (*evaluate.Gated, error) {
	if !live {
		return a.Gate([2]string(words), gating)
	}
	subject, err := a.OpenLive(words[0], o.suite.Names, o.model)
	if err != nil {
		return nil, err
	}
	host, ctx, stop := s.watched()
	defer stop() // before anything is printed
	return subject.GateLive(ctx, words[0], gating, o.request, host)
}

func (s *session) rankCommand() *cobra.Command {
	var (
		suite evaluate.Suite
		q     evaluate.Ranking
		r     evaluation.Spec
		page  string
	)
	c := &cobra.Command{
		Use: "rank A B… --benchmark B --budget b", Short: "find the best of several models, or their order, under one budget",
		Long: `Find the best of several models, or their order, under one budget of b rollouts per task on
average over the models. In stages the rollouts go to the models, and tasks of theirs, where
they decide; every mean stays unbiased. A, B, … are models of the configuration, or names under
which servers have them. The same command again goes on where it was stopped.`,
		Example: `  speceval evaluate rank qwen3_5_4b qwen3_5_9b qwen2_5_3b --benchmark aime24 --budget 8
  speceval evaluate rank a b c --benchmark mine.jsonl --budget 16 --goal order --page rank.html`,
		RunE: s.configured(func(cfg *config.Config, words []string) error {
			benchmark, err := s.archive(cfg).OpenSuite(suite)
			if err != nil {
				return err
			}
			host, ctx, stop := s.watched()
			defer stop()
			q.Models = words
			ranked, err := benchmark.Rank(ctx, q, r, host)
			if err != nil {
				return err
			}
			stop() // before anything is printed
			if err := s.comparisonPage(page, ranked.Page); err != nil {
				return err
			}
			return s.printAs(ranked, func(w io.Writer) error { return ranked.Text(w, s.all) })
		}),
	}
	fs := c.Flags()
	suiteFlags(fs, &suite)
	fs.IntVar(&r.Budget, "budget", 0, "spend `b` rollouts per task on average, at least 4")
	fs.StringVar(&q.Goal, "goal", "best", "find `G`: best, or the order of all models")
	fs.IntVar(&q.Floor, "floor", 0, "at least `F` rollouts a task of each model")
	seedFlag(fs, &r.Seed, "seed `S` of all rollouts (experiment.seed)")
	coupledFlag(fs, &r)
	lossFlag(fs, &r)
	priceFlag(fs, &r)
	pageFlag(fs, &page)
	s.workerFlag(c)
	s.jsonFlag(c)
	s.allFlag(c, "show every difference")
	return c
}
