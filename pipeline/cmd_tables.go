package main

import (
	"speceval/pipeline/dag"
)

func tablesCommand() command {
	return command{
		name:  "tables",
		args:  "[--set KEY=VALUE]",
		about: "write every table and figure again from stored results only",
		examples: `  speceval tables              all tables, in under two seconds
  speceval tables --out out2   from the results in another folder
`,
		run: func(s *session, words []string) error {
			if err := wantWords(words, 0, 0, "nothing"); err != nil {
				return err
			}
			plan, err := s.runSelection(dag.Selection{Stages: []string{reportStage}, Force: true})
			if err == nil {
				s.say("tables: %s written from stored results", outputs(plan))
			}
			return err
		},
	}
}
