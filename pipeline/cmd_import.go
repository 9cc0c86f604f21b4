package main

import (
	"strings"

	"github.com/spf13/cobra"

	"speceval/internal/evaluation/logs"
	"speceval/internal/terminal/table"
	"speceval/pipeline/exchange"
)

func (s *session) importCommand() *cobra.Command {
	var r exchange.ImportRequest
	c := &cobra.Command{
		Use: "import PATH… --to FILE", Short: "make profiles of logs of other harnesses", Args: cobra.MinimumNArgs(1),
		Long: "Make profiles of logs of other harnesses:\n" + table.WrapAt(80, "", "", strings.Join(logs.Formats(), ", ")+".") + `
PATH is a log, or a folder of logs, of which those that cannot be used are left out and
listed. Logs of one benchmark and model add up. --prior takes FILE.`,
		Example: `  speceval import logs/ --to mine.parquet
  speceval import eval-results/aime24 --model my-model --to aime24.csv`,
		RunE: func(_ *cobra.Command, words []string) error {
			if r.To == "" {
				return usagef("want --to FILE for the profiles")
			}
			if r.Scorer != "" && r.Reward != "" {
				return usagef("--reward takes a score of the logs and --scorer scores the answers again: give one of them")
			}
			if r.Scorer != "" {
				check, err := checker(r.Scorer)
				if err != nil {
					return err
				}
				r.Score = func(gold, response string) (float64, error) {
					v, err := check(gold, response)
					return v.Reward, err
				}
			}
			r.Paths = words
			done, err := exchange.Import(r)
			if err != nil {
				return err
			}
			return done.Text(s.stdout)
		},
	}
	fs := c.Flags()
	fs.StringVar(&r.Format, "format", "", "the logs are of `F` (recognised from their content)")
	fs.StringVar(&r.Reward, "reward", "", "take rewards by scorer, metric or field `R` (the first)")
	fs.StringVar(&r.Scorer, "scorer", "", "score lm-eval by `S`: "+checkable())
	fs.BoolVar(&r.Strict, "strict", false, "a log that cannot be used is an error")
	fs.StringVar(&r.Benchmark, "benchmark", "", "call the benchmark `B`, and not as the logs do")
	fs.StringVar(&r.Model, "model", "", "call the model `M`, and not as the logs do")
	fs.StringVar(&r.To, "to", "", "write the profiles to `FILE`, .csv or .parquet")
	return c
}
