// Package pipeline has the drills that run the whole pipeline, end to end.
package pipeline

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"speceval/drills/lab"
	"speceval/internal/atomicfile"
	"speceval/internal/fleet"
	"speceval/internal/measurement"
	"speceval/internal/profile"
	"speceval/internal/rollout"
	"speceval/internal/rowfile"
)

// Smoke runs all five stages on the small benchmark over HTTP, on the simulated
// fleet, with every kind of scorer. It checks that the profiles are the ones by which
// the fleet answers, that no unit is left to run, and that the tables are complete and
// name the origin of their numbers.
var Smoke = lab.Drill{
	Name: "smoke", About: "all five stages over HTTP, on the simulated fleet and a small benchmark",
	Limit: 10 * time.Minute, Shared: []string{"speceval", "dir"},
	Flags: func(flags *flag.FlagSet) func(context.Context, *lab.Lab) error {
		config := flags.String("config", "experiments-small.toml", "the experiment; its servers get free ports")
		speed := flags.Float64("speed", 100, "of the fleet")
		return func(ctx context.Context, l *lab.Lab) error {
			s := &smoke{l, l.Path("experiments.toml"), l.Path("out")}
			urls, err := freePorts(*config, s.config)
			if err != nil {
				return err
			}
			fleet, err := l.Serve(ctx, "fleet.log", s.config, urls, "--speed", fmt.Sprint(*speed))
			if err != nil {
				return err
			}
			defer fleet.Kill()
			l.Printf("%d simulated servers, at %g times their speed", len(urls), *speed)
			if err := s.speceval(ctx, "run"); err != nil {
				return err
			}
			return s.check(ctx)
		}
	},
}

// smoke is the lab with a configuration and an output folder.
type smoke struct {
	*lab.Lab
	config, out string
}

// address is a server on this machine, in a configuration.
var address = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// freePorts copies a configuration, with free ports for its servers, and returns their
// addresses.
func freePorts(from, to string) ([]string, error) {
	text, err := os.ReadFile(from)
	if err != nil {
		return nil, err
	}
	old := address.FindAllString(string(text), -1)
	slices.Sort(old)
	old = slices.Compact(old)
	urls, err := lab.FreeURLs(len(old))
	if err != nil {
		return nil, err
	}
	replaced := address.ReplaceAllStringFunc(string(text), func(url string) string { return urls[slices.Index(old, url)] })
	return urls, os.WriteFile(to, []byte(replaced), 0o666)
}

// speceval runs a command of the program on the experiment, and shows its output.
func (s *smoke) speceval(ctx context.Context, command string, args ...string) error {
	s.Printf("\n$ speceval %s", strings.Join(append([]string{command}, args...), " "))
	c := exec.CommandContext(ctx, s.Program, slices.Concat([]string{command}, args, []string{"--config", s.config, "--out", s.out})...)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 10 * time.Second
	c.Stdout, c.Stderr = s.Stdout, s.Stdout
	if err := c.Run(); err != nil {
		return fmt.Errorf("speceval %s: %w", command, err)
	}
	return nil
}

// check compares what the stages have left with what it must be.
func (s *smoke) check(ctx context.Context) error {
	if err := s.speceval(ctx, "status", "--check"); err != nil {
		return err
	}
	obtained := filepath.Join(s.out, "score", "profiles.parquet")
	profiles, err := profile.Read(obtained)
	if err != nil {
		return err
	}
	truth := s.Path("truth.parquet")
	if err := writeTruth(truth, profiles); err != nil {
		return err
	}
	return lab.Report(s.Stdout, []lab.Check{
		{What: "profiles are those by which the fleet answers", Fault: s.speceval(ctx, "compare", obtained, truth)},
		{What: "every scorer has found answers right and wrong", Fault: s.checkScores(profiles)},
		{What: "every timed run is there, as simulated", Fault: s.checkRuns(profiles)},
		{What: "runs under real rewards estimate their profiles' means", Fault: s.checkScored(profiles)},
		{What: "tables name the origin of their numbers", Fault: s.checkTables()},
	})
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

// checkScores checks that every scorer has found answers right and wrong.
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
			s.Printf("%s: %s: %d right, %d wrong", p.Name(), scorer, right[scorer], wrong[scorer])
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

// checkScored counts the timed runs under real rewards, and checks that each estimates
// the mean of its profile.
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
	s.Printf("%d runs under real rewards", count)
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
	return errors.Join(faults...)
}
