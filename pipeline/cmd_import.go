package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"speceval/internal/harness"
	"speceval/pipeline/exchange"
)

func importCommand() command {
	r := new(exchange.ImportRequest)
	return command{
		name: "import",
		args: "[--format F] [--reward S] [--benchmark B] [--model M] PATH… --to FILE",
		about: `make profiles of logs of other harnesses: ` + strings.Join(harness.Formats(), ", ") + `

PATH is a log, or a folder of logs. Logs of one benchmark and model add up. FILE is a
profile that --prior takes and, where it has passes and failures and is of no
allocation, one that [corpus] profiles and compare take.`,
		examples: `  speceval import logs/ --to mine.parquet
  speceval import eval-results/aime24 --model my-model --to aime24.csv
`,
		flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&r.Format, "format", "", "the logs are of `F` (recognised from their content)")
			fs.StringVar(&r.Scorer, "reward", "", "the rewards are by scorer, metric or field `S` (the only one, or the first)")
			fs.StringVar(&r.Scorer, "scorer", "", "the same as --reward `S`")
			fs.StringVar(&r.Benchmark, "benchmark", "", "call the benchmark `B`, and not as the logs do")
			fs.StringVar(&r.Model, "model", "", "call the model `M`, and not as the logs do")
			fs.StringVar(&r.To, "to", "", "write the profiles to `FILE`, .csv or .parquet")
		},
		run: func(s *session, words []string) error {
			if len(words) == 0 || r.To == "" {
				return usagef("want logs, and --to FILE for their profiles")
			}
			r.Paths = words
			done, err := exchange.Import(*r)
			if err != nil {
				return err
			}
			return done.Text(s.stdout)
		},
	}
}

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
