package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"speceval/pipeline/exchange"
)

func exportCommand() command {
	var form, to string
	return command{
		name: "export",
		args: "E [--format F] [--to FILE]",
		about: `write an evaluation as other tools read it: ` + strings.Join(exchange.FormatNames(), ", ") + `

eee is Every Eval Ever 0.3.0, a record and its samples in a folder; inspect a log that
Inspect opens; json one document. E is an evaluation, as evaluate list has it.`,
		examples: `  speceval export mine/a/hbn_staged-b16-seed42 --format eee --to data
  speceval export mine/a/hbn_staged-b16-seed42 --format inspect --to result.eval
`,
		flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&form, "format", "json", "write as `F`: "+strings.Join(exchange.FormatNames(), ", "))
			fs.StringVar(&to, "to", "", "write to `FILE`, of eee a folder (one named by the evaluation's own id)")
		},
		complete: completeEvaluations,
		run:      func(s *session, words []string) error { return export(s, words, form, to) },
	}
}

// export exports a stored evaluation, and says what was written.
func export(s *session, words []string, form, to string) error {
	f, err := exchange.FindFormat(form)
	if err := cmp.Or(wantWords(words, 1, 1, "an evaluation"), err); err != nil {
		return &usageError{err}
	}
	cfg, err := s.evaluationConfig(nil)
	if err != nil {
		return err
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
}
