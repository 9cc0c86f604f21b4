package main

import (
	"flag"

	"speceval/pipeline/dag"
	"speceval/pipeline/status"
)

func whyCommand() command {
	return command{
		name:  "why",
		args:  "STAGE [--all]",
		about: "show the changed inputs and keys of a stale stage",
		examples: `  speceval why replay         the changes, and some of the units of each
  speceval why replay --all   with every unit and its key
`,
		flags: func(fs *flag.FlagSet, o *options) {
			fs.BoolVar(&o.all, "all", false, "list every unit and reason")
		},
		run: runWhy,
	}
}

func runWhy(s *session, words []string) error {
	if err := wantWords(words, 1, 1, "one stage"); err != nil {
		return err
	}
	if _, err := s.open(dag.Selection{Stages: words}); err != nil {
		return err
	}
	_, plan, err := s.look(dag.Selection{}) // all stages: staleness comes from upstream too
	if err != nil {
		return err
	}
	for i := range plan.Stages {
		if plan.Stages[i].Stage.Name == words[0] {
			return status.WriteWhy(s.stdout, &plan.Stages[i], s.all)
		}
	}
	return nil
}
