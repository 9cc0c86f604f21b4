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
	"speceval/pipeline/dag"
	"speceval/pipeline/experiment"
	"speceval/stages/systems"
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
  speceval allocations --schedule paper   with those of the paper's Table 5, without a replay
  speceval allocations > allocations.csv  benchmark, model, budget, allocation_sha256`,
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
	profiles, stored, err := experiment.Profiles(cfg, out)
	switch {
	case err != nil && stored == "":
		return &usageError{err} // the configuration names them
	case err != nil:
		return err
	case stored != "":
		if err := s.warnUnlessFresh(stored); err != nil {
			return err
		}
	}
	pilots, err := s.pilots(schedule, out)
	if err != nil {
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

// pilots are the pilot sizes of a schedule.
func (s *session) pilots(schedule, out string) (systems.Schedule, error) {
	if schedule == paperSchedule {
		return experiment.PaperSchedule()
	}
	stored, err := experiment.StoredSchedule(out)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not there: run `speceval run replay` first, or take --schedule %s", filepath.Join(out, filepath.FromSlash(variance.DesignsFile)), paperSchedule)
	}
	if err != nil {
		return nil, err
	}
	return stored, s.warnUnlessFresh(variance.DesignsFile)
}

// warnUnlessFresh warns of a stored file that a run would make anew.
func (s *session) warnUnlessFresh(file string) error {
	_, plan, err := s.look(selection{})
	if err != nil {
		return err
	}
	for _, stage := range plan.Stages {
		if slices.ContainsFunc(stage.Run, func(r dag.Record) bool { return slices.Contains(r.Declared.Outputs, file) }) {
			s.warn("%s is not fresh; `speceval plan %s` says why", file, stage.Stage.Name)
		}
	}
	return nil
}
