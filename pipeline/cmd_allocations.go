package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

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

// allocationsOptions are the flags of allocations.
type allocationsOptions struct{ schedule string }

func allocationsCommand() command {
	o := new(allocationsOptions)
	return command{
		name:  "allocations",
		args:  "[--schedule computed|paper]",
		about: "print the digest of every final HBN allocation under coupled rewards, as CSV",
		examples: `  speceval allocations                    with the pilot sizes that the replay has designed
  speceval allocations --schedule paper   with those of the paper's Table 5, without a replay
  speceval allocations > allocations.csv  benchmark, model, budget, allocation_sha256
`,
		flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&o.schedule, "schedule", computedSchedule, "take pilot sizes from `WHERE`: computed, by the replay stage, or paper, its Table 5")
		},
		run: o.run,
	}
}

func (o *allocationsOptions) run(s *session, words []string) error {
	if err := wantWords(words, 0, 0, "nothing"); err != nil {
		return err
	}
	if o.schedule != computedSchedule && o.schedule != paperSchedule {
		return usagef("--schedule %s: want %s or %s", o.schedule, computedSchedule, paperSchedule)
	}
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
	schedule, err := o.pilots(s, out)
	if err != nil {
		return err
	}
	var rows bytes.Buffer // all or nothing
	err = experiment.WriteAllocations(&rows, cfg, profiles, schedule)
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

// pilots is the schedule that the flag asks for.
func (o *allocationsOptions) pilots(s *session, out string) (systems.Schedule, error) {
	if o.schedule == paperSchedule {
		return experiment.PaperSchedule()
	}
	schedule, err := experiment.StoredSchedule(out)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not there: run `speceval run replay` first, or take --schedule %s", filepath.Join(out, filepath.FromSlash(variance.DesignsFile)), paperSchedule)
	}
	if err != nil {
		return nil, err
	}
	return schedule, s.warnUnlessFresh(variance.DesignsFile)
}

// warnUnlessFresh warns of a stored file that a run would make anew.
func (s *session) warnUnlessFresh(file string) error {
	_, plan, err := s.look(dag.Selection{})
	if err != nil {
		return err
	}
	for _, stage := range plan.Stages {
		for _, unit := range stage.Stage.Units {
			if !slices.Contains(unit.Outputs, file) {
				continue
			}
			if slices.ContainsFunc(stage.Run, func(r dag.Record) bool { return r.Unit.Unit == unit.ID }) {
				s.warn("%s is not fresh; `speceval plan %s` says why", file, stage.Stage.Name)
			}
		}
	}
	return nil
}
