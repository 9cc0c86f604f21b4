package main

import (
	"bytes"
	"errors"

	"github.com/spf13/cobra"

	"speceval/pipeline/experiment"
)

func (s *session) allocationsCommand() *cobra.Command {
	schedule := ""
	c := &cobra.Command{
		Use: "allocations", Short: "print digests of all final HBN allocations under coupled rewards, as CSV", Args: cobra.NoArgs,
		Example: `  speceval allocations                    with the pilot sizes that the replay has designed
  speceval allocations --schedule paper   with those of the paper's Table 5, without a replay`,
		RunE: func(*cobra.Command, []string) error {
			if schedule != "computed" && schedule != "paper" {
				return usagef("--schedule %s: want computed or paper", schedule)
			}
			x, plan, err := s.look(selection{})
			if err != nil {
				return err
			}
			var rows bytes.Buffer // all or nothing
			err = x.WriteAllocations(&rows, schedule == "paper")
			if errors.Is(err, experiment.ErrNoPilots) {
				return usage(err)
			}
			if err != nil {
				return err
			}
			if schedule == "computed" {
				s.warnStale(plan, "replay")
			}
			_, err = rows.WriteTo(s.stdout)
			return err
		},
	}
	c.Flags().StringVar(&schedule, "schedule", "computed", "take pilot sizes from `WHERE`: computed or paper")
	return c
}
