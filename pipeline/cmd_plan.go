package main

import (
	"github.com/spf13/cobra"

	"speceval/pipeline/status"
)

func (s *session) planCommand() *cobra.Command {
	var o selection
	c := &cobra.Command{
		Use: "plan [STAGE…]", Short: "show what run would do with the same words and flags, and why",
		Example: `  speceval plan                           what a full run would do
  speceval plan --set replay.draws=1024   what that change would cost`,
		ValidArgs: stages,
		RunE: func(_ *cobra.Command, stages []string) error {
			o.Stages = stages
			x, plan, err := s.look(o)
			if err != nil {
				return err
			}
			s.sayNotes(x, plan)
			return status.WritePlan(s.stdout, plan, x.machines, s.width)
		},
	}
	o.define(c.Flags())
	return c
}
