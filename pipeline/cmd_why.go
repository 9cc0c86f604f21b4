package main

import (
	"slices"

	"github.com/spf13/cobra"

	"speceval/pipeline/dag"
	"speceval/pipeline/status"
)

func (s *session) whyCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "why STAGE", Short: "show the changed inputs and keys of a stale stage", Args: cobra.ExactArgs(1),
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
			at := slices.IndexFunc(plan.Stages, func(p dag.StagePlan) bool { return p.Stage.Name == words[0] })
			return status.WriteWhy(s.stdout, &plan.Stages[at], x.machines, s.all, s.width)
		},
	}
	s.allFlag(c, "list every unit and reason")
	return c
}
