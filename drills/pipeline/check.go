package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"speceval/internal/atomicfile"
	"speceval/internal/fleet"
	"speceval/internal/measurement"
	"speceval/internal/profile"
	"speceval/internal/rollout"
	"speceval/internal/rowfile"
)

// check holds what the stages have left to what it must be.
func (s *smoke) check(ctx context.Context) error {
	if err := s.speceval(ctx, "status", "--check"); err != nil {
		return err
	}
	profiles, err := profile.Read(filepath.Join(s.out, "score", "profiles.parquet"))
	if err != nil {
		return err
	}
	truth := filepath.Join(filepath.Dir(s.config), "truth.parquet")
	if err := writeTruth(truth, profiles); err != nil {
		return err
	}
	err = s.speceval(ctx, "compare", filepath.Join(s.out, "score", "profiles.parquet"), truth)
	return errors.Join(err, s.checkScores(profiles), s.checkRuns(profiles), s.checkScored(profiles), s.checkTables())
}

// exactly is the number of rollouts that a true probability is written as a
// share of.
const exactly = 1 << 30

// writeTruth writes the probabilities that the fleet answers by.
func writeTruth(path string, obtained []profile.Profile) error {
	var truth []profile.Profile
	for _, p := range obtained {
		p.TestedK, p.Scorer = exactly, "the fleet itself"
		p.PassCounts = make([]int, p.N())
		for i, id := range p.TaskIDs {
			pass := fleet.DefaultPass(p.Model, fleet.TaskKey{Benchmark: p.Benchmark, ID: id})
			p.PassCounts[i] = int(math.Round(pass * exactly))
		}
		truth = append(truth, p)
	}
	return atomicfile.Write(path, func(w io.Writer) error { return profile.Write(w, truth, nil) })
}

// checkScores sees to it that every kind of scorer has found answers right and
// wrong.
func (s *smoke) checkScores(profiles []profile.Profile) error {
	var faults []error
	for _, p := range profiles {
		path := filepath.Join(s.out, "score", "benchmark="+p.Benchmark, "model="+p.Model, "scores.parquet")
		rows, _, err := rowfile.ReadFile[rollout.Score](path)
		if err != nil {
			return err
		}
		right, wrong := map[string]int{}, map[string]int{}
		for _, r := range rows {
			if r.Correct {
				right[r.Scorer]++
			} else {
				wrong[r.Scorer]++
			}
		}
		for _, scorer := range strings.Split(p.Scorer, "+") {
			fmt.Fprintf(s.Stdout, "%s: %s: %d right, %d wrong\n", p.Name(), scorer, right[scorer], wrong[scorer])
			if right[scorer] == 0 || wrong[scorer] == 0 {
				faults = append(faults, fmt.Errorf("%s: %s has found all answers right, or all wrong", p.Name(), scorer))
			}
		}
		if len(right) != 4 || len(rows) != p.N()*p.TestedK {
			faults = append(faults, fmt.Errorf("%s: %d scores by %d scorers, want %d by 4", p.Name(), len(rows), len(right), p.N()*p.TestedK))
		}
	}
	return errors.Join(faults...)
}

// checkRuns counts the timed runs.
func (s *smoke) checkRuns(profiles []profile.Profile) error {
	runs, err := measurement.Read(filepath.Join(s.out, filepath.FromSlash(measurement.File)))
	if err != nil {
		return err
	}
	budgets := map[int32]bool{}
	for _, r := range runs {
		budgets[r.ReferenceBudget] = true
		if r.Provenance != measurement.Simulated {
			return fmt.Errorf("a run on the fleet says that it is %s", r.Provenance)
		}
	}
	if want := 4 * len(profiles) * len(budgets); len(runs) != want || len(budgets) == 0 {
		return fmt.Errorf("%d timed runs, want %d", len(runs), want)
	}
	return nil
}

// checkScored counts the timed runs under real rewards, and sees to it that each
// estimates the mean of its profile.
func (s *smoke) checkScored(profiles []profile.Profile) error {
	all, _, err := rowfile.ReadFile[measurement.Run](filepath.Join(s.out, filepath.FromSlash(measurement.RunsFile)))
	if err != nil {
		return err
	}
	count := 0
	for _, r := range all {
		if r.Rewards != measurement.Scored {
			continue
		}
		count++
		i := slices.IndexFunc(profiles, func(p profile.Profile) bool { return p.Benchmark == r.Benchmark && p.Model == r.Model })
		if i < 0 {
			return fmt.Errorf("a run of %s on %s, which has no profile", r.Model, r.Benchmark)
		}
		if mean := profiles[i].Mean(); math.Abs(r.Estimate-mean) > scoredTolerance {
			return fmt.Errorf("a run of %s under real rewards estimates %.3f, the profile's mean is %.3f", profiles[i].Name(), r.Estimate, mean)
		}
	}
	fmt.Fprintf(s.Stdout, "%d runs under real rewards estimate their profiles' means\n", count)
	if want := 2 * 3 * len(profiles); count != want {
		return fmt.Errorf("%d runs under real rewards, want %d", count, want)
	}
	return nil
}

// scoredTolerance is of the mean of 60 tasks by 8 rollouts of each: above five
// standard errors of at most √(0.25/480), and of the profile's own.
const scoredTolerance = 0.15

// tables are some that must be there, each with what it must have.
var tables = []struct{ name, has string }{
	{"table1_variance.csv", "budget,oracle"},
	{"table2_compute.csv", ",simulated,"},
	{"table3_time.csv", ",simulated,"},
	{"table4_benefit.tex", `\begin{tabular}`},
	{"profile_ratios.csv", "smallbench"},
	{"numbers.tex", `\newcommand`},
}

func (s *smoke) checkTables() error {
	var faults []error
	for _, table := range tables {
		text, err := os.ReadFile(filepath.Join(s.out, "tables", table.name))
		if err == nil && !strings.Contains(string(text), table.has) {
			err = fmt.Errorf("%s lacks %q", table.name, table.has)
		}
		faults = append(faults, err)
	}
	return errors.Join(slices.DeleteFunc(faults, func(err error) bool { return err == nil })...)
}
