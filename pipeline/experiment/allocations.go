package experiment

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"speceval/internal/policy"
	"speceval/internal/policy/coupled"
	"speceval/internal/results/paper"
	"speceval/internal/results/variance"
	"speceval/internal/store/rowfile"
	"speceval/method/neyman"
	"speceval/stages/systems"
)

// ErrNoPilots: the paper's Table 5 has no pilot size for a setting. Its text is the way out.
var ErrNoPilots = errors.New("take --schedule computed")

// WriteAllocations writes the digest of the HBN allocation of every profile at
// every budget under coupled rewards, as CSV. Pilot sizes come from the paper's Table 5 (the error
// may wrap ErrNoPilots), or from the designs that the replay stage has stored.
func (e *Experiment) WriteAllocations(w io.Writer, byPaper bool) error {
	stored := func(output, run string) (string, error) {
		path := filepath.Join(e.Out, filepath.FromSlash(output))
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("%s is not there: run `speceval run %s", path, run)
		}
		return path, nil
	}
	pilots := func(tasks, budget int) (int, error) {
		m, ok := paperNumbers().At(paper.HBNSchedule, "m", paper.Key{NTasks: int32(tasks), Budget: int32(budget)})
		if !ok {
			return 0, fmt.Errorf("no pilot size for %d tasks at budget %d is in Table 5 of the paper: %w", tasks, budget, ErrNoPilots)
		}
		return int(m), nil
	}
	if !byPaper {
		path, err := stored(variance.DesignsFile, "replay` first, or take --schedule paper")
		if err != nil {
			return err
		}
		designs, _, err := rowfile.ReadFile[variance.Design](path)
		if err != nil {
			return err
		}
		schedules := variance.NewSchedules(designs)
		pilots = func(tasks, budget int) (int, error) {
			d, err := schedules.Selected(policy.HBN.Key(), int32(tasks), int32(budget), nil)
			return int(d.M), err
		}
	}
	prior, err := neyman.NewPrior(e.config.Replay.QuadratureOrder)
	if err != nil {
		return err
	}
	rows := csv.NewWriter(w)
	rows.Write([]string{"benchmark", "model", "budget", "allocation_sha256"}) // errors: see rows.Error
	for _, of := range e.Reports.Pairs {
		p, err := of.ProfileIn(func(file string) (string, error) { return stored(file, "--until score` first") })
		if err != nil {
			return err
		}
		if p.VarianceSum() == 0 { // it is not evaluated
			continue
		}
		rewards := coupled.NewRewards(p, releases().Digest(p), e.config.Experiment.Seed)
		for _, budget := range e.config.Experiment.Budgets {
			m, err := pilots(p.N(), budget)
			if err != nil {
				return fmt.Errorf("%s: %w", p.Name(), err)
			}
			allocation, err := systems.Allocation(prior, rewards, m, budget)
			if err != nil {
				return fmt.Errorf("%s at budget %d: %w", p.Name(), budget, err)
			}
			rows.Write([]string{p.Benchmark, p.Model, strconv.Itoa(budget), coupled.AllocationDigest(p.TaskIDs, allocation)})
		}
	}
	rows.Flush()
	return rows.Error()
}
