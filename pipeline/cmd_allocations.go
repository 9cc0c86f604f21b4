package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"speceval/internal/variance"
	"speceval/pipeline/experiment"
)

// Values of --schedule.
const (
	computedSchedule = "computed"
	paperSchedule    = "paper"
)

func (s *session) allocationsCommand() *cobra.Command {
	schedule := ""
	c := &cobra.Command{
		Use: "allocations", Short: "print digests of all final HBN allocations under coupled rewards, as CSV", Args: cobra.NoArgs,
		Example: `  speceval allocations                    with the pilot sizes that the replay has designed
  speceval allocations --schedule paper   with those of the paper's Table 5, without a replay`,
		RunE: func(*cobra.Command, []string) error {
			if schedule != computedSchedule && schedule != paperSchedule {
				return usagef("--schedule %s: want %s or %s", schedule, computedSchedule, paperSchedule)
			}
			return s.allocations(schedule)
		},
	}
	c.Flags().StringVar(&schedule, "schedule", computedSchedule, "take pilot sizes from `WHERE`: computed or paper")
	return c
}

// allocations prints the digests, and warns of the stored files behind them that are not fresh.
func (s *session) allocations(schedule string) error {
	x, plan, err := s.look(selection{})
	if err != nil {
		return err
	}
	var rows bytes.Buffer // all or nothing
	read, err := x.WriteAllocations(&rows, schedule == paperSchedule)
	var none *experiment.NoPilotsError
	switch {
	case errors.As(err, &none):
		return usagef("%w: take --schedule %s", err, computedSchedule)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is not there: run `speceval run replay` first, or take --schedule %s", filepath.Join(x.Out, filepath.FromSlash(variance.DesignsFile)), paperSchedule)
	case err != nil:
		return err
	}
	for _, stage := range plan.Stages {
		for _, r := range stage.Run {
			for _, output := range r.Declared.Outputs {
				if slices.Contains(read, output) {
					s.warn("%s is not fresh; `speceval plan %s` says why", output, stage.Stage.Name)
				}
			}
		}
	}
	_, err = rows.WriteTo(s.stdout)
	return err
}
