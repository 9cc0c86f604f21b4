package main

import (
	"github.com/spf13/pflag"

	"speceval/pipeline/dag"
	"speceval/pipeline/status"
)

// whyOptions are the flags of why.
type whyOptions struct{ all bool }

func whyCommand() command {
	o := new(whyOptions)
	return command{
		name:  "why",
		args:  "STAGE [--all]",
		about: "show the changed inputs and keys of a stale stage",
		examples: `  speceval why replay         the changes, and some of the units of each
  speceval why replay --all   with every unit and its key
`,
		complete: completeStages,
		flags: func(fs *pflag.FlagSet) {
			fs.BoolVar(&o.all, "all", false, "list every unit and reason")
		},
		run: o.run,
	}
}

func (o *whyOptions) run(s *session, words []string) error {
	if err := wantWords(words, 1, 1, "one stage"); err != nil {
		return err
	}
	if _, err := s.open(dag.Selection{Stages: words}); err != nil {
		return err
	}
	x, plan, err := s.look(dag.Selection{}) // all stages: staleness comes from upstream too
	if err != nil {
		return err
	}
	for i := range plan.Stages {
		if plan.Stages[i].Stage.Name == words[0] {
			return status.WriteWhy(s.stdout, &plan.Stages[i], x.machines(), o.all, s.width)
		}
	}
	return nil
}
