package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"speceval/pipeline/config"
	"speceval/pipeline/exchange"
)

func (s *session) exportCommand() *cobra.Command {
	var form, to string
	c := &cobra.Command{
		Use: "export E", Short: "write an evaluation as other tools read it", Args: cobra.ExactArgs(1),
		Long: `Write an evaluation as other tools read it.

eee is Every Eval Ever 0.3.0, a record and its samples in a folder; inspect a log that
Inspect opens; json one document. E is an evaluation, as evaluate list has it.`,
		Example: `  speceval export mine/a/hbn_staged-b16-seed42 --format eee --to data
  speceval export mine/a/hbn_staged-b16-seed42 --format inspect --to result.eval`,
		ValidArgsFunction: complete(s.evaluationNames),
		RunE: s.configured(func(cfg *config.Config, words []string) error {
			f, err := exchange.FindFormat(form)
			if err != nil {
				return &usageError{err}
			}
			stored, err := s.archive(cfg).Stored(words[0])
			if err != nil {
				return err
			}
			e, err := exchange.OpenEvaluation(stored)
			if err != nil {
				return err
			}
			files, err := e.Write(f, to)
			for _, file := range files {
				fmt.Fprintln(s.stdout, file)
			}
			return err
		}),
	}
	c.Flags().StringVar(&form, "format", "json", "write as `F`: "+strings.Join(exchange.FormatNames(), ", "))
	c.Flags().StringVar(&to, "to", "", "write to `FILE`, of eee a folder (one named by the evaluation's own id)")
	return c
}
