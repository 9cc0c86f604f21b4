package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"speceval/internal/variance"
	"speceval/pipeline/config"
	"speceval/pipeline/dag"
	"speceval/pipeline/evaluate"
	"speceval/pipeline/experiment"
	"speceval/stages/systems"
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

// Values of --schedule.
const (
	computedSchedule = "computed"
	paperSchedule    = "paper"
)

// allocationsOptions are the flags of allocations.
type allocationsOptions struct{ schedule string }

func allocationsCommand() command {
	o := new(allocationsOptions)
	return command{
		name:  "allocations",
		args:  "[--schedule computed|paper]",
		about: "print the digest of every final HBN allocation under coupled rewards, as CSV",
		examples: `  speceval allocations                    with the pilot sizes that the replay has designed
  speceval allocations --schedule paper   with those of the paper's Table 5, without a replay
  speceval allocations > allocations.csv  benchmark, model, budget, allocation_sha256
`,
		flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&o.schedule, "schedule", computedSchedule, "take pilot sizes from `WHERE`: computed, by the replay stage, or paper, its Table 5")
		},
		run: o.run,
	}
}

func (o *allocationsOptions) run(s *session, words []string) error {
	if err := wantWords(words, 0, 0, "nothing"); err != nil {
		return err
	}
	if o.schedule != computedSchedule && o.schedule != paperSchedule {
		return usagef("--schedule %s: want %s or %s", o.schedule, computedSchedule, paperSchedule)
	}
	cfg, err := config.Load(s.config, s.sets)
	if err != nil {
		return &usageError{err}
	}
	out := cmp.Or(s.out, cfg.Experiment.Out)
	profiles, stored, err := experiment.Profiles(cfg, out)
	switch {
	case err != nil && stored == "":
		return &usageError{err} // the configuration names them
	case err != nil:
		return err
	case stored != "":
		if err := s.warnUnlessFresh(stored); err != nil {
			return err
		}
	}
	schedule, err := o.pilots(s, out)
	if err != nil {
		return err
	}
	var rows bytes.Buffer // all or nothing
	err = experiment.WriteAllocations(&rows, cfg, profiles, schedule)
	var none *experiment.NoPilotsError
	if errors.As(err, &none) {
		return usagef("%w: take --schedule %s", err, computedSchedule)
	}
	if err != nil {
		return err
	}
	_, err = rows.WriteTo(s.stdout)
	return err
}

// pilots is the schedule that the flag asks for.
func (o *allocationsOptions) pilots(s *session, out string) (systems.Schedule, error) {
	if o.schedule == paperSchedule {
		return experiment.PaperSchedule()
	}
	schedule, err := experiment.StoredSchedule(out)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not there: run `speceval run replay` first, or take --schedule %s", filepath.Join(out, filepath.FromSlash(variance.DesignsFile)), paperSchedule)
	}
	if err != nil {
		return nil, err
	}
	return schedule, s.warnUnlessFresh(variance.DesignsFile)
}

// warnUnlessFresh warns of a stored file that a run would make anew.
func (s *session) warnUnlessFresh(file string) error {
	_, plan, err := s.look(dag.Selection{})
	if err != nil {
		return err
	}
	for _, stage := range plan.Stages {
		for _, unit := range stage.Stage.Units {
			if !slices.Contains(unit.Outputs, file) {
				continue
			}
			if slices.ContainsFunc(stage.Run, func(r dag.Record) bool { return r.Unit.Unit == unit.ID }) {
				s.warn("%s is not fresh; `speceval plan %s` says why", file, stage.Stage.Name)
			}
		}
	}
	return nil
}
