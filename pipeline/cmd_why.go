package main

import (
	"errors"

	"github.com/spf13/cobra"

	"speceval/pipeline/dag"
	"speceval/pipeline/status"
)

func (s *session) whyCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "why [STAGE]", Short: "show the changed inputs and keys of a stale stage, or of all", Args: cobra.MaximumNArgs(1),
		Example: `  speceval why replay         the changes, and some of the units of each
  speceval why replay --all   with every unit and its key`,
		ValidArgs: stages,
		RunE: func(_ *cobra.Command, words []string) error {
			x, plan, err := s.look(selection{}) // all stages: staleness comes from upstream too
			if err != nil {
				return err
			}
			if err := x.graph.Check(dag.Selection{Stages: words}); err != nil {
				return usage(err)
			}
			for i := range plan.Stages {
				if stage := &plan.Stages[i]; len(words) == 0 || stage.Stage.Name == words[0] {
					err = errors.Join(err, status.WriteWhy(s.stdout, stage, x.machines, s.all, s.width))
				}
			}
			return err
		},
	}
	s.allFlag(c, "list every unit and reason")
	return c
}
