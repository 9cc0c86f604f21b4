package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"speceval/internal/variance"
	"speceval/pipeline/config"
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
		Use: "allocations", Short: "print the digest of every final HBN allocation under coupled rewards, as CSV", Args: cobra.NoArgs,
		Example: `  speceval allocations                    with the pilot sizes that the replay has designed
  speceval allocations --schedule paper   with those of the paper's Table 5, without a replay`,
		RunE: func(*cobra.Command, []string) error {
			if schedule != computedSchedule && schedule != paperSchedule {
				return usagef("--schedule %s: want %s or %s", schedule, computedSchedule, paperSchedule)
			}
			return s.allocations(schedule)
		},
	}
	c.Flags().StringVar(&schedule, "schedule", computedSchedule, "take pilot sizes from `WHERE`: computed, by the replay stage, or paper, its Table 5")
	return c
}

func (s *session) allocations(schedule string) error {
	cfg, err := config.Load(s.config, s.sets)
	if err != nil {
		return &usageError{err}
	}
	out := cmp.Or(s.out, cfg.Experiment.Out)
	profiles, file, err := experiment.Profiles(cfg, out)
	if err != nil && file == "" {
		return &usageError{err} // the configuration names them
	}
	if err != nil {
		return err
	}
	read := []string{file}
	pilots, err := experiment.PaperSchedule()
	if schedule == computedSchedule {
		read = append(read, variance.DesignsFile)
		if pilots, err = experiment.StoredSchedule(out); errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s is not there: run `speceval run replay` first, or take --schedule %s", filepath.Join(out, filepath.FromSlash(variance.DesignsFile)), paperSchedule)
		}
	}
	if err != nil {
		return err
	}
	if err := s.warnUnlessFresh(read); err != nil {
		return err
	}
	var rows bytes.Buffer // all or nothing
	err = experiment.WriteAllocations(&rows, cfg, profiles, pilots)
	var none *experiment.NoPilotsError
	if errors.As(err, &none) {
		return usagef("%w: take --schedule %s", err, computedSchedule)
	}
	if err != nil {
		return err
	}
	_, err = rows.WriteTo(s.stdout)
	return err
}

// warnUnlessFresh warns of stored files that a run would make anew.
func (s *session) warnUnlessFresh(files []string) error {
	_, plan, err := s.look(selection{})
	if err != nil {
		return err
	}
	for _, stage := range plan.Stages {
		for _, r := range stage.Run {
			for _, output := range r.Declared.Outputs {
				if slices.Contains(files, output) {
					s.warn("%s is not fresh; `speceval plan %s` says why", output, stage.Stage.Name)
				}
			}
		}
	}
	return nil
}
