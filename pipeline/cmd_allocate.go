package main

import (
	"github.com/spf13/pflag"

	"speceval/pipeline/evaluate"
)

// allocateOptions are the flags of allocate.
type allocateOptions struct {
	budget int
	known  evaluate.Known
	which  evaluate.Counting
	with   string
	json   bool
}

func allocateCommand() command {
	o := new(allocateOptions)
	return command{
		name: "allocate",
		args: "COUNTS --budget b [--prior SOURCE]… [--with COUNTS] [--json]",
		about: `say what each task gets next, for tools that cannot ask while they run

COUNTS is what there is so far: a file of profiles, a CSV file with the columns task_id,
pass_count and tested_k, or logs of a harness. Tasks without rollouts get a pilot first.
The budget is what a task has on average in the end. CSV is for each task; JSON has the
lists of tasks that get the same number, too, for tools that repeat all tasks of a run
alike. --with takes what they then got, and shows the mean of both with its errors.`,
		examples: `  speceval allocate counts.csv --budget 16
  speceval allocate logs --budget 16 --prior last-week.eval --json
  speceval allocate counts.csv --budget 16 --with more.csv   the mean of both
`,
		flags: func(fs *pflag.FlagSet) {
			fs.IntVar(&o.budget, "budget", 0, "have `b` rollouts per task on average in the end")
			fs.StringArrayVar(&o.known.Sources, "prior", nil, "know the tasks from `SOURCE`: an evaluation, a log, or a file of profiles; may be repeated")
			fs.StringVar(&o.known.Reward, "reward", "", "the rewards of logs are by scorer, metric or field `S`")
			fs.StringVar(&o.with, "with", "", "the tasks have what they were to get: `COUNTS` of those rollouts alone")
			fs.StringVar(&o.which.Benchmark, "benchmark", "", "of several in the file take `B`")
			fs.StringVar(&o.which.Model, "model", "", "of several in the file take `M`")
			jsonFlag(fs, &o.json, "print one JSON document")
		},
		run: o.run,
	}
}

func (o *allocateOptions) run(s *session, words []string) error {
	if err := wantWords(words, 1, 1, "a file of counts, or a log"); err != nil {
		return err
	}
	cfg, err := s.evaluationConfig(nil)
	if err != nil {
		return err
	}
	o.which.Reward = o.known.Reward
	counted, err := o.which.Read(words[0])
	if err != nil {
		return err
	}
	ctx, stop := s.interruptible()
	defer stop()
	o.known.OtherPrompts = true
	outside := evaluate.Outside{Context: ctx, Config: cfg, Say: func(text string) { s.say("%s", text) }}
	a, err := outside.Allocate(counted, o.budget, o.known)
	if err != nil {
		return err
	}
	if o.with != "" {
		more, err := o.which.Read(o.with)
		if err != nil {
			return err
		}
		c, err := a.With(more)
		if err != nil {
			return err
		}
		return (&jsonOption{o.json}).write(s, c)
	}
	s.say("%s: %d rollouts to run now", a.Stage, a.Rollouts)
	if o.json {
		return writeJSON(s.stdout, a)
	}
	return a.CSV(s.stdout)
}
