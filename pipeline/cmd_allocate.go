package main

import (
	"github.com/spf13/cobra"

	"speceval/internal/evaluation"
	"speceval/pipeline/config"
)

func (s *session) allocateCommand() *cobra.Command {
	var spec evaluation.Spec
	var benchmark, model, with string
	c := &cobra.Command{
		Use: "allocate COUNTS --budget b", Short: "print what each task gets next, for tools that cannot ask while they run", Args: cobra.ExactArgs(1),
		Long: `Print what each task gets next, for tools that cannot ask while they run.

COUNTS is a file of profiles, a CSV file with the columns task_id, pass_count and
tested_k, or logs of a harness. Tasks without rollouts get a pilot first.`,
		Example: `  speceval allocate counts.csv --budget 16
  speceval allocate logs --budget 16 --prior last-week.eval --json   lists of tasks, too
  speceval allocate counts.csv --budget 16 --with more.csv           the mean of both`,
		RunE: s.configured(func(cfg *config.Config, words []string) error {
			archive := s.archive(cfg)
			counted, err := archive.Counts(words[0], spec.Reward, benchmark, model)
			if err != nil {
				return err
			}
			a, err := s.evaluateOutside(cfg).Allocate(counted, spec)
			if err != nil {
				return err
			}
			if with != "" {
				more, err := archive.Counts(with, spec.Reward, benchmark, model)
				if err != nil {
					return err
				}
				joined, err := a.With(more)
				if err != nil {
					return err
				}
				return s.print(joined)
			}
			s.say("%s: %d rollouts to run now", a.Stage, a.Rollouts)
			return s.printAs(a, a.CSV)
		}),
	}
	fs := c.Flags()
	fs.IntVar(&spec.Budget, "budget", 0, "have `b` rollouts per task on average in the end")
	fs.StringArrayVar(&spec.Prior, "prior", nil, "know the tasks from `SOURCE`: evaluation, log, profiles; repeatable")
	fs.StringVar(&spec.Reward, "reward", "", "take rewards of logs by scorer, metric or field `S`")
	fs.StringVar(&with, "with", "", "add `COUNTS` of the allocated rollouts alone, and print the mean")
	fs.StringVar(&benchmark, "benchmark", "", "of several in the file take `B`")
	fs.StringVar(&model, "model", "", "of several in the file take `M`")
	s.jsonFlag(c)
	return c
}
