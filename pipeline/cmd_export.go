package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"speceval/internal/evaluation"
	"speceval/pipeline/config"
	"speceval/pipeline/evaluate"
	"speceval/pipeline/exchange"
)

func (s *session) exportCommand() *cobra.Command {
	var form, to string
	var files []string
	c := &cobra.Command{
		Use: "export E", Short: "write an evaluation as other tools read it", Args: cobra.ExactArgs(1),
		Long: `Write an evaluation as other tools read it.

eee is Every Eval Ever 0.3.0, a record and its samples in a folder; inspect a log that
Inspect opens; json one document. E is an evaluation, as evaluate list has it. The
configured task files, or --tasks, have the inputs and targets.`,
		Example: `  speceval export mine/a/hbn_staged-b16-seed42 --format eee --to data
  speceval export mine/a/hbn_staged-b16-seed42 --format inspect --tasks mine.jsonl --to result.eval`,
		RunE: s.configured(func(cfg *config.Config, words []string) error {
			if !slices.Contains(exchange.FormatNames(), form) {
				return usagef("there is no format %q: want one of %s", form, strings.Join(exchange.FormatNames(), ", "))
			}
			stored, err := s.archive(cfg).Stored(words[0])
			if err != nil {
				return err
			}
			e, err := s.exported(cfg, stored, files)
			if err != nil {
				return err
			}
			paths, err := e.Write(form, to)
			for _, path := range paths {
				fmt.Fprintln(s.stdout, path)
			}
			return err
		}),
	}
	c.Flags().StringVar(&form, "format", "json", "write as `F`: "+strings.Join(exchange.FormatNames(), ", "))
	c.Flags().StringVar(&to, "to", "", "write to `FILE`; eee: a folder (named by the evaluation)")
	c.Flags().StringArrayVar(&files, "tasks", nil, "tasks in `FILE`; of a suite one a benchmark, in order")
	return c
}

// exported opens an evaluation with its tasks. Without files they are those of the
// configuration; if those cannot be read or are others by now, inputs are empty and a warning
// says so.
func (s *session) exported(cfg *config.Config, stored *evaluation.Stored, files []string) (*exchange.Evaluation, error) {
	tasks, err := evaluate.Archive{Config: cfg}.TasksOf(stored.Result, files)
	if err == nil {
		var e *exchange.Evaluation
		if e, err = exchange.OpenEvaluation(stored, tasks); !errors.Is(err, exchange.ErrOtherPrompts) {
			return e, err
		}
	}
	if len(files) > 0 {
		return nil, err
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("the configuration has no task file of " + stored.Result.Benchmark)
	}
	s.warn("inputs and targets are empty: %v; name the task file with --tasks", err)
	return exchange.OpenEvaluation(stored, nil)
}
