package experiment

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"

	"speceval/data"
	"speceval/internal/coupled"
	"speceval/internal/paper"
	"speceval/internal/profile"
	"speceval/internal/variance"
	"speceval/method/neyman"
	"speceval/pipeline/config"
	"speceval/stages/score"
	"speceval/stages/systems"
)

// Profiles are those to evaluate, without degenerate ones: known ones, or those
// that the score stage has stored below the folder out. stored is the file of
// the latter, relative to out.
func Profiles(cfg *config.Config, out string) (profiles []profile.Profile, stored string, err error) {
	var all []profile.Profile
	if cfg.Corpus.Source == config.SourcePublished {
		all, err = cfg.Profiles(data.Profiles(), data.ProfilesName)
	} else {
		stored = score.ProfilesFile
		path := filepath.Join(out, filepath.FromSlash(stored))
		if all, err = profile.Read(path); errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s is not there: run `speceval run --until score` first", path)
		}
	}
	if err != nil {
		return nil, stored, err
	}
	profiles, _, err = profile.Evaluated(all)
	return profiles, stored, err
}

// PaperSchedule is the schedule of pilot sizes in the paper's Table 5.
func PaperSchedule() (systems.Schedule, error) {
	numbers, err := paper.Parse(data.PaperTargets())
	if err != nil {
		return nil, err
	}
	return func(tasks, budget int) (int, error) {
		m, ok := numbers.At(paper.HBNSchedule, "m", paper.Key{NTasks: int32(tasks), Budget: int32(budget)})
		if !ok {
			return 0, &NoPilotsError{tasks, budget}
		}
		return int(m), nil
	}, nil
}

// NoPilotsError is a setting that the paper's Table 5 does not have.
type NoPilotsError struct{ Tasks, Budget int }

func (e *NoPilotsError) Error() string {
	return fmt.Sprintf("Table 5 of the paper has no pilot size for %d tasks at budget %d", e.Tasks, e.Budget)
}

// StoredSchedule is the schedule of pilot sizes that the replay stage has
// stored in variance.DesignsFile below the folder out; fs.ErrNotExist if it has
// none.
func StoredSchedule(out string) (systems.Schedule, error) {
	designs, err := variance.ReadDesigns(filepath.Join(out, filepath.FromSlash(variance.DesignsFile)))
	if err != nil {
		return nil, err
	}
	return systems.Computed(designs)
}

// WriteAllocations writes the digest of the HBN allocation of every profile at
// every budget under coupled rewards, as CSV.
func WriteAllocations(w io.Writer, cfg *config.Config, profiles []profile.Profile, schedule systems.Schedule) error {
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
