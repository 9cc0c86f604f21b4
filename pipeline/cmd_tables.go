package main

import (
	"github.com/spf13/pflag"

	"speceval/internal/display"
	"speceval/pipeline/dag"
)

// tablesOptions are the flags of tables.
type tablesOptions struct{ strict bool }

func tablesCommand() command {
	o := new(tablesOptions)
	return command{
		name:  "tables",
		args:  "[--set KEY=VALUE] [--strict]",
		about: "write every table, figure and document again, and report.html, from stored results only",
		examples: `  speceval tables              all tables, in two or three seconds
  speceval tables --out out2   from the results in another folder
  speceval tables --strict     and fail where a stage has not run
`,
		flags: func(fs *pflag.FlagSet) {
			fs.BoolVar(&o.strict, "strict", false, "fail where a stage has not run, in place of leaving its numbers out")
		},
		run: func(s *session, words []string) error {
			if err := wantWords(words, 0, 0, "nothing"); err != nil {
				return err
			}
			plan, err := s.runSelection(dag.Selection{Stages: []string{reportStage}, Force: true, Strict: o.strict}, runOptions{})
			if err == nil {
				s.say("tables: %s written from stored results", outputs(plan))
			}
			return err
		},
	}
}

// outputs counts the files that the units of a plan write.
func outputs(plan *dag.Plan) string {
	n := 0
	for _, stage := range plan.Stages {
		for _, u := range stage.Stage.Units {
			n += len(u.Outputs)
		}
	}
	return display.Count(n, "file", "files")
}
