package experiment

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"

	"speceval/internal/policy"
	"speceval/internal/policy/coupled"
	"speceval/internal/results/paper"
	"speceval/internal/results/variance"
	"speceval/internal/store/profile"
	"speceval/internal/store/rowfile"
	"speceval/method/neyman"
	"speceval/stages/score"
	"speceval/stages/systems"
)

// profiles returns the profiles to evaluate, without degenerate ones: known ones, or what the score
// stage has stored. stored is the file of the latter, relative to the output folder.
func (e *Experiment) profiles() (profiles []profile.Profile, stored string, err error) {
	if e.known != nil {
		return e.known, "", nil
	}
	path := filepath.Join(e.Out, filepath.FromSlash(score.ProfilesFile))
	all, err := profile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s is not there: run `speceval run --until score` first", path)
	}
	if err == nil {
		profiles, _, err = profile.Evaluated(all)
	}
	return profiles, score.ProfilesFile, err
}

// paperSchedule is the schedule of pilot sizes in the paper's Table 5.
func paperSchedule(tasks, budget int) (int, error) {
	m, ok := paperNumbers().At(paper.HBNSchedule, "m", paper.Key{NTasks: int32(tasks), Budget: int32(budget)})
	if !ok {
		return 0, fmt.Errorf("no pilot size for %d tasks at budget %d is in Table 5 of the paper: %w", tasks, budget, ErrNoPilots)
	}
	return int(m), nil
}

// ErrNoPilots: the paper's Table 5 has no pilot size for a setting. Its text is the way out.
var ErrNoPilots = errors.New("take --schedule computed")

// WriteAllocations writes the digest of the HBN allocation of every profile at
// every budget under coupled rewards, as CSV. Pilot sizes come from the paper's Table 5 (the error
// may wrap ErrNoPilots), or from the designs that the replay stage has stored.
// read are the files of the output folder that it follows from.
func (e *Experiment) WriteAllocations(w io.Writer, byPaper bool) (read []string, err error) {
	profiles, stored, err := e.profiles()
	if err != nil {
		return nil, err
	}
	read = []string{stored}
	schedule := paperSchedule
	if !byPaper {
		read = append(read, variance.DesignsFile)
		path := filepath.Join(e.Out, filepath.FromSlash(variance.DesignsFile))
		designs, _, err := rowfile.ReadFile[variance.Design](path)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s is not there: run `speceval run replay` first, or take --schedule paper", path)
		}
		if err != nil {
			return nil, err
		}
		schedules := variance.NewSchedules(designs)
		schedule = func(tasks, budget int) (int, error) {
			d, err := schedules.Selected(policy.HBN.Key(), int32(tasks), int32(budget), nil)
			return int(d.M), err
		}
	}
	prior, err := neyman.NewPrior(e.config.Replay.QuadratureOrder)
	if err != nil {
		return nil, err
	}
	rows := csv.NewWriter(w)
	rows.Write([]string{"benchmark", "model", "budget", "allocation_sha256"}) // errors: see rows.Error
	for _, p := range profiles {
		rewards := coupled.NewRewards(p, releases().Digest(p), e.config.Experiment.Seed)
		for _, budget := range e.config.Experiment.Budgets {
			pilots, err := schedule(p.N(), budget)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.Name(), err)
			}
			allocation, err := systems.Allocation(prior, rewards, pilots, budget)
			if err != nil {
				return nil, fmt.Errorf("%s at budget %d: %w", p.Name(), budget, err)
			}
			rows.Write([]string{p.Benchmark, p.Model, strconv.Itoa(budget), coupled.AllocationDigest(p.TaskIDs, allocation)})
		}
	}
	rows.Flush()
	return read, rows.Error()
}
