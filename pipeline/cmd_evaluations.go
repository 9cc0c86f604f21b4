package main

import (
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/pflag"

	"speceval/internal/evaluation"
	"speceval/pipeline/config"
	"speceval/pipeline/evaluate"
)

func evaluateShowCommand() command {
	o := new(shownResult)
	return command{
		name:  "show",
		args:  "E [--json] [--all]",
		about: "show the result of an evaluation again",
		examples: `  speceval evaluate show mine/a/hbn_staged-b16-seed42
  speceval evaluate show mine/a/hbn_staged-b16-seed42 --all   every task
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
	e, err := s.archive(cfg).Stored(words[0])
	if err != nil {
		return err
	}
	return o.write(s, e.Result, e.Folder)
}

func evaluateListCommand() command {
	o := new(jsonOption)
	return command{
		name:     "list",
		args:     "[--json]",
		about:    "list the evaluations in the output folder",
		examples: "  speceval evaluate list\n  speceval evaluate list --json   one JSON document\n",
		flags:    o.flags,
		run: func(s *session, words []string) error {
			if err := wantWords(words, 0, 0, "nothing"); err != nil {
				return err
			}
			return o.print(s, func(cfg *config.Config) (texter, error) { return s.archive(cfg).List() })
		},
	}
}

func evaluateCompareCommand() command {
	o, resolve := new(jsonOption), 0.0
	return command{
		name:  "compare",
		args:  "E E [--resolve D] [--json]",
		about: "show the difference of two evaluations, and what would resolve it",
		examples: `  speceval evaluate compare mine/a/hbn_staged-b16-seed42 mine/b/hbn_staged-b16-seed42
  speceval evaluate compare --resolve 0.01 mine/a/hbn_staged-b16-seed42 mine/b/hbn_staged-b16-seed42
`,
		flags: func(fs *pflag.FlagSet) {
			fs.Float64Var(&resolve, "resolve", 0, "show the budgets that find a difference of `D`, too")
			o.flags(fs)
		},
		complete: completeEvaluations,
		run: func(s *session, words []string) error {
			if err := wantWords(words, 2, 2, "two evaluations"); err != nil {
				return err
			}
			return o.print(s, func(cfg *config.Config) (texter, error) {
				return s.archive(cfg).Compare([2]string(words), resolve)
			})
		},
	}
}

// evaluateRescoreOptions are those of evaluate rescore.
type evaluateRescoreOptions struct {
	benchmarks []string // none: those of the evaluation
	shownResult
}

func evaluateRescoreCommand() command {
	o := new(evaluateRescoreOptions)
	return command{
		name:  "rescore",
		args:  "E [--benchmark B] [--json] [--all]",
		about: "score the answers of an evaluation again by the scorers of today",
		examples: `  speceval evaluate rescore mine/a/hbn_staged-b16-seed42
  speceval evaluate rescore mine/a/hbn_staged-b16-seed42 --benchmark mine.jsonl   its task file, where it is elsewhere
`,
		flags: func(fs *pflag.FlagSet) {
			storedBenchmarkFlag(fs, &o.benchmarks)
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
	r, err := evaluate.Rescore(ctx, cfg, words[0], o.benchmarks, s.evaluationHost())
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

func evaluateExtendCommand() command {
	o := new(evaluateExtendOptions)
	return command{
		name:  "extend",
		args:  "E --budget b [--worker URL]… [--benchmark B] [--json] [--all]",
		about: "add rollouts to a complete evaluation, where they help most by all that it has found",
		examples: `  speceval evaluate extend mine/a/hbn_staged-b16-seed42 --budget 32
`,
		flags:    o.flags,
		complete: completeEvaluations,
		run:      o.run,
	}
}

// evaluateExtendOptions are those of evaluate extend.
type evaluateExtendOptions struct {
	benchmarks []string // none: those of the evaluation
	workers    []string
	budget     int
	shownResult
}

func (o *evaluateExtendOptions) flags(fs *pflag.FlagSet) {
	fs.IntVar(&o.budget, "budget", 0, "have `b` rollouts per task on average in the end")
	storedBenchmarkFlag(fs, &o.benchmarks)
	workerFlag(fs, &o.workers)
	o.shownResult.flags(fs)
}

// run adds rollouts to an evaluation.
func (o *evaluateExtendOptions) run(s *session, words []string) error {
	if err := wantWords(words, 1, 1, "an evaluation"); err != nil {
		return err
	}
	cfg, err := s.evaluationConfig(o.workers)
	if err != nil {
		return err
	}
	host, ctx, stop := s.evaluating()
	defer stop()
	r, folder, err := evaluate.Extend(ctx, cfg, words[0], o.benchmarks, o.budget, host)
	stop()
	if err != nil {
		return err
	}
	return o.write(s, r, folder)
}

func evaluatePoolCommand() command {
	o := new(jsonOption)
	return command{
		name:  "pool",
		args:  "E E… [--json]",
		about: "join evaluations of one model under different seeds into one estimate",
		examples: `  speceval evaluate pool mine/a/hbn_staged-b16-seed1 mine/a/hbn_staged-b16-seed2
`,
		flags:    o.flags,
		complete: completeEvaluations,
		run: func(s *session, words []string) error {
			if len(words) < 2 {
				return usagef("want two evaluations at least")
			}
			return o.print(s, func(cfg *config.Config) (texter, error) { return s.archive(cfg).Pool(words) })
		},
	}
}

// texter is a document for people that is one for programs, too.
type texter interface{ Text(w io.Writer) error }

// jsonOption prints a document in either form.
type jsonOption struct{ json bool }

func (o *jsonOption) flags(fs *pflag.FlagSet) { jsonFlag(fs, &o.json, "print one JSON document") }

// print prints what make makes by the configuration of evaluations.
func (o *jsonOption) print(s *session, make func(*config.Config) (texter, error)) error {
	cfg, err := s.evaluationConfig(nil)
	if err != nil {
		return err
	}
	t, err := make(cfg)
	if err != nil {
		return err
	}
	return o.write(s, t)
}

func (o *jsonOption) write(s *session, t texter) error {
	if o.json {
		return writeJSON(s.stdout, t)
	}
	return t.Text(s.stdout)
}

// evaluateGateOptions are those of evaluate gate.
type evaluateGateOptions struct {
	gating evaluate.Gating
	asked  bool // a margin is given
	live   bool
	evaluateOptions
}

func evaluateGateCommand() command {
	o := new(evaluateGateOptions)
	return command{
		name:  "gate",
		args:  "E BASELINE --no-worse-than D | BASELINE --live --no-worse-than D --model M --budget b; exit 4 unless it passes",
		about: "ask whether a model is no worse than a baseline by a margin, with stated error rates",
		examples: `  speceval evaluate gate mine/new/hbn_staged-b16-seed42 mine/old/hbn_staged-b16-seed42 --no-worse-than 0.02
  speceval evaluate gate mine/new/hbn_staged-b16-seed42 baseline.json --no-worse-than 0.02
  speceval evaluate gate mine/old/hbn_staged-b16-seed42 --live --model new --seed 7 --budget 32 --no-worse-than 0.02
`,
		flags:    o.flags,
		complete: completeEvaluations,
		run:      o.run,
	}
}

func (o *evaluateGateOptions) flags(fs *pflag.FlagSet) {
	fs.Func("no-worse-than", "pass a model that is worse by less than `D`, 0.02 for two points", func(text string) (err error) {
		o.asked = true
		o.gating.Margin, err = strconv.ParseFloat(text, 64)
		return err
	})
	fs.BoolVar(&o.gating.OverTasks, "over-tasks", false, "ask it of what the tasks are a sample of, and not of these tasks")
	fs.BoolVar(&o.live, "live", false, "evaluate the model until it is decided, at looks of which each doubles the rollouts up to --budget")
	o.evaluateOptions.flags(fs)
}

// run asks the question of two evaluations, or evaluates until it is answered.
func (o *evaluateGateOptions) run(s *session, words []string) error {
	names := 2
	if o.live {
		names = 1
	}
	if err := wantWords(words, names, names, map[int]string{1: "a baseline", 2: "an evaluation and a baseline"}[names]); err != nil {
		return err
	}
	if !o.asked {
		return usagef("say by how much the model may be worse: --no-worse-than")
	}
	if err := o.gating.Check(); err != nil {
		return err
	}
	cfg, err := s.evaluationConfig(o.workers)
	if err != nil {
		return err
	}
	g, err := o.ask(s, cfg, words)
	if err != nil {
		return err
	}
	if err := (&jsonOption{o.shownResult.json}).write(s, g); err != nil {
		return err
	}
	if !g.Passed() {
		return fmt.Errorf("%w: %s", errOutside, g.Outcome)
	}
	return nil
}

func (o *evaluateGateOptions) ask(s *session, cfg *config.Config, words []string) (*evaluate.Gated, error) {
	if !o.live {
		return s.archive(cfg).Gate([2]string(words), o.gating)
	}
	subject, err := s.archive(cfg).OpenLive(words[0], o.suite.Names, o.model)
	if err != nil {
		return nil, err
	}
	host, ctx, stop := s.evaluating()
	defer stop() // before anything is printed
	return subject.GateLive(ctx, words[0], o.gating, o.request, host)
}
