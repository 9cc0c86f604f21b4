package main

import (
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
