package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"

	"speceval/data"
	"speceval/internal/coupled"
	"speceval/internal/profile"
	"speceval/internal/variance"
	"speceval/method/neyman"
	"speceval/pipeline/config"
	"speceval/pipeline/dag"
	"speceval/stages/report"
	"speceval/stages/score"
	"speceval/stages/systems"
)

// Values of --schedule.
const (
	computedSchedule = "computed"
	paperSchedule    = "paper"
)

func allocationsCommand() command {
	return command{
		name:  "allocations",
		args:  "[--schedule computed|paper]",
		about: "print the digest of every final HBN allocation under coupled rewards, as CSV",
		examples: `  speceval allocations                    with the pilot sizes that the replay has designed
  speceval allocations --schedule paper   with those of the paper's Table 5, without a replay
  speceval allocations > allocations.csv  benchmark, model, budget, allocation_sha256
`,
		flags: func(fs *flag.FlagSet, o *options) {
			fs.StringVar(&o.schedule, "schedule", computedSchedule, "take pilot sizes from `WHERE`: computed, by the replay stage, or paper, its Table 5")
		},
		run: runAllocations,
	}
}

func runAllocations(s *session, words []string) error {
	if err := wantWords(words, 0, 0, "nothing"); err != nil {
		return err
	}
	if s.schedule != computedSchedule && s.schedule != paperSchedule {
		return usagef("--schedule %s: want %s or %s", s.schedule, computedSchedule, paperSchedule)
	}
	cfg, err := config.Load(s.config, s.sets)
	if err != nil {
		return &usageError{err}
	}
	profiles, err := s.profilesToEvaluate(cfg)
	if err != nil {
		return err
	}
	schedule, err := s.allocationSchedule()
	if err != nil {
		return err
	}
	var rows bytes.Buffer // all or nothing
	if err := writeAllocations(&rows, cfg, profiles, schedule); err != nil {
		return err
	}
	_, err = rows.WriteTo(s.stdout)
	return err
}

// profilesToEvaluate are the profiles of the experiment, known or stored, without
// degenerate ones.
func (s *session) profilesToEvaluate(cfg *config.Config) ([]profile.Profile, error) {
	if cfg.Corpus.Source == config.SourcePublished {
		all, err := cfg.Profiles(data.Profiles(), data.ProfilesName)
		if err != nil {
			return nil, &usageError{err}
		}
		profiles, _, err := profile.Evaluated(all)
		return profiles, err
	}
	out, err := s.outFolder()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(out, filepath.FromSlash(score.ProfilesFile))
	all, err := profile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not there: run `speceval run --until score` first", path)
	}
	if err != nil {
		return nil, err
	}
	if err := s.warnUnlessFresh(score.ProfilesFile); err != nil {
		return nil, err
	}
	profiles, _, err := profile.Evaluated(all)
	return profiles, err
}

// allocationSchedule is the schedule that the flag asks for.
func (s *session) allocationSchedule() (systems.Schedule, error) {
	if s.schedule == paperSchedule {
		targets, err := report.ParseTargets(data.PaperTargets())
		if err != nil {
			return nil, err
		}
		return func(tasks, budget int) (int, error) {
			m, ok := targets.HBNPilots(tasks, budget)
			if !ok {
				return 0, usagef("Table 5 of the paper has no pilot size for %d tasks at budget %d: take --schedule %s", tasks, budget, computedSchedule)
			}
			return m, nil
		}, nil
	}
	out, err := s.outFolder()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(out, filepath.FromSlash(variance.DesignsFile))
	designs, err := variance.ReadDesigns(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not there: run `speceval run replay` first, or take --schedule %s", path, paperSchedule)
	}
	if err != nil {
		return nil, err
	}
	if err := s.warnUnlessFresh(variance.DesignsFile); err != nil {
		return nil, err
	}
	return systems.Computed(designs)
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
			if slices.ContainsFunc(stage.Run, func(u dag.UnitPlan) bool { return u.Ref.Unit == unit.ID }) {
				s.warn("%s is not fresh; `speceval plan %s` says why", file, stage.Stage.Name)
			}
		}
	}
	return nil
}

// writeAllocations writes a row for every profile at every budget.
func writeAllocations(w io.Writer, cfg *config.Config, profiles []profile.Profile, schedule systems.Schedule) error {
	releases, err := releases()
	if err != nil {
		return err
	}
	prior, err := neyman.NewPrior(cfg.Replay.QuadratureOrder)
	if err != nil {
		return err
	}
	rows := csv.NewWriter(w)
	rows.Write([]string{"benchmark", "model", "budget", "allocation_sha256"}) // errors: see rows.Error
	for _, p := range profiles {
		rewards := coupled.NewRewards(p, releases.Digest(p), cfg.Experiment.Seed)
		for _, budget := range cfg.Experiment.Budgets {
			pilots, err := schedule(p.N(), budget)
			if err != nil {
				return fmt.Errorf("%s: %w", p.Name(), err)
			}
			allocation, err := systems.Allocation(prior, rewards, pilots, budget)
			if err != nil {
				return fmt.Errorf("%s at budget %d: %w", p.Name(), budget, err)
			}
			rows.Write([]string{p.Benchmark, p.Model, strconv.Itoa(budget), coupled.AllocationDigest(p.TaskIDs, allocation)})
		}
	}
	rows.Flush()
	return rows.Error()
}

// releases are the digests of the published profiles' own files.
func releases() (coupled.Releases, error) {
	published, err := profile.Parse(data.Profiles(), data.ProfilesName)
	if err != nil {
		return nil, err
	}
	return coupled.ParseReleases(data.ProfileSHA256(), data.ProfileSHA256Name, published)
}
