package main

import (
	"flag"
	"strconv"
)

// evaluateOptions are the flags of the command evaluate.
type evaluateOptions struct {
	benchmark, model string
	budget           int
	policy           string
	workers          []string
	seed             *uint64 // nil: the experiment's
	targetSE         float64
	resolve          float64
	from             string // an earlier evaluation
	plan             string // a file
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
	fs.StringVar(&e.benchmark, "benchmark", "", "evaluate on `B`: an id, or a task file")
	fs.StringVar(&e.model, "model", "", "evaluate `M`: an id, or the name that servers give it")
	fs.IntVar(&e.budget, "budget", 0, "spend `b` rollouts per task on average, at least 2")
	fs.StringVar(&e.policy, "policy", "hbn-async", "hbn-async, hbn-sync or uniform: `P`")
	fs.Func("worker", "ask the server at `URL`, in the place of the configured workers; may be repeated", func(url string) error {
		e.workers = append(e.workers, url)
		return nil
	})
	fs.Func("seed", "the seed of all rollouts, `S` (experiment.seed); another one is another evaluation", func(text string) error {
		n, err := strconv.ParseUint(text, 10, 64)
		e.seed = &n
		return err
	})
	fs.Float64Var(&e.targetSE, "target-se", 0, "in the place of --budget: the least that has a standard error of `X`")
	fs.Float64Var(&e.resolve, "resolve", 0, "in the place of --budget: the least by which two models are told apart that differ by `D`")
	fs.StringVar(&e.from, "from", "", "plan by what the evaluation `E` found, and not by the prior")
	fs.StringVar(&e.plan, "plan", "", "take the budget from `FILE`, which evaluate plan --json wrote")
	fs.BoolVar(&o.json, "json", false, "print one JSON document")
	fs.BoolVar(&o.all, "all", false, "show every task")
}

func runEvaluate(s *session, words []string) error {
	if len(words) == 0 {
		return s.evaluateNow()
	}
	switch words[0] {
	case "plan":
		return s.evaluatePlan(words[1:])
	case "show":
		return s.evaluateShow(words[1:])
	case "list":
		return s.evaluateList(words[1:])
	case "compare":
		return s.evaluateCompare(words[1:])
	case "rescore":
		return s.evaluateRescore(words[1:])
	}
	return usagef("evaluate does not know %s: want plan, show, list, compare or rescore, or flags alone", quoted(words[:1]))
}
