//go:build drill

// Package pipeline_test runs the whole pipeline, end to end: make smoke, and make
// drill-benchmarks.
package pipeline_test

import (
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"speceval/drills/drill"
	"speceval/internal/fleet"
	"speceval/internal/results/measurement"
	"speceval/internal/store/atomicfile"
	"speceval/internal/store/profile"
	"speceval/internal/store/rollout"
	"speceval/internal/store/rowfile"
)

// TestSmoke runs all five stages on the small benchmark over HTTP, on the simulated
// fleet, with every kind of scorer. It checks that the profiles are the ones by which
// the fleet answers, that no unit is left to run, and that the tables are complete and
// name the origin of their numbers.
func TestSmoke(t *testing.T) {
	l := drill.New(t, 10*time.Minute)
	s := &smoke{l, l.Path("experiments.toml"), l.Path("out")}
	urls := s.freePorts("experiments-small.toml")
	l.Serve("fleet.log", s.config, urls, "--speed", "100")
	s.speceval("run")
	s.speceval("status", "--check")
	obtained := filepath.Join(s.out, "score", "profiles.parquet")
	profiles, err := profile.Read(obtained)
	l.OK(err)
	for _, check := range []struct {
		what string
		do   func(s *smoke)
	}{
		{"profiles are those by which the fleet answers", func(s *smoke) {
			s.speceval("compare", obtained, s.writeTruth(profiles))
		}},
		{"every scorer has found answers right and wrong", func(s *smoke) { s.checkScores(profiles) }},
		{"every timed run is there, as simulated", func(s *smoke) { s.checkRuns(profiles) }},
		{"runs under real rewards estimate their profiles' means", func(s *smoke) { s.checkScored(profiles) }},
		{"tables name the origin of their numbers", (*smoke).checkTables},
	} {
		l.Sub(check.what, func(l *drill.Lab) { check.do(&smoke{l, s.config, s.out}) })
	}
}

// smoke is the lab with a configuration and an output folder.
type smoke struct {
	*drill.Lab
	config, out string
}

// address is a server on this machine, in a configuration.
var address = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// freePorts copies a configuration, with free ports for its servers, and returns their
// addresses.
func (s *smoke) freePorts(from string) []string {
	text := string(s.Read(from))
	old := address.FindAllString(text, -1)
	slices.Sort(old)
	old = slices.Compact(old)
	urls := s.FreeURLs(len(old))
	s.Write(s.config, []byte(address.ReplaceAllStringFunc(text, func(url string) string { return urls[slices.Index(old, url)] })))
	return urls
}

// speceval runs a command of the program on the experiment, and shows its output.
func (s *smoke) speceval(words ...string) {
	s.Helper()
	p := s.Do(0, slices.Concat(words, []string{"--config", s.config, "--out", s.out, "--set", "corpus.rollouts_per_task=16"})...)
	s.Logf("$ speceval %s\n%s", strings.Join(words, " "), p.Text())
}

// exactly is the number of rollouts that a true probability is written as a
// share of.
const exactly = 1 << 30

// writeTruth writes the probabilities that the fleet answers by.
func (s *smoke) writeTruth(obtained []profile.Profile) (path string) {
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
	path = s.Path("truth.parquet")
	s.OK(atomicfile.Write(path, func(w io.Writer) error { return profile.Write(w, truth, nil) }))
	return path
}

// checkScores checks that every scorer has found answers right and wrong.
func (s *smoke) checkScores(profiles []profile.Profile) {
	for _, p := range profiles {
		path := filepath.Join(s.out, "score", "benchmark="+p.Benchmark, "model="+p.Model, "scores.parquet")
		rows, _, err := rowfile.ReadFile[rollout.Score](path)
		s.OK(err)
		right, wrong := map[string]int{}, map[string]int{}
		for _, r := range rows {
			if r.Correct {
				right[r.Scorer]++
			} else {
				wrong[r.Scorer]++
			}
		}
		for _, scorer := range strings.Split(p.Scorer, "+") {
			s.Logf("%s: %s: %d right, %d wrong", p.Name(), scorer, right[scorer], wrong[scorer])
			if right[scorer] == 0 || wrong[scorer] == 0 {
				s.Errorf("%s: %s has found all answers right, or all wrong", p.Name(), scorer)
			}
		}
		if len(right) != 4 || len(rows) != p.N()*p.TestedK {
			s.Errorf("%s: %d scores by %d scorers, want %d by 4", p.Name(), len(rows), len(right), p.N()*p.TestedK)
		}
	}
}

// checkRuns counts the timed runs.
func (s *smoke) checkRuns(profiles []profile.Profile) {
	runs, _, err := rowfile.ReadFile[measurement.Measurement](filepath.Join(s.out, filepath.FromSlash(measurement.File)))
	s.OK(err)
	budgets := map[int32]bool{}
	for _, r := range runs {
		budgets[r.ReferenceBudget] = true
		if r.Provenance != measurement.Simulated {
			s.Fatalf("a run on the fleet says that it is %s", r.Provenance)
		}
	}
	if want := 4 * len(profiles) * len(budgets); len(runs) != want || len(budgets) == 0 {
		s.Errorf("%d timed runs, want %d", len(runs), want)
	}
}

// scoredTolerance is of the mean of 60 tasks by 8 rollouts of each: above five
// standard errors of at most √(0.25/480), and of the profile's own.
const scoredTolerance = 0.15

// checkScored counts the timed runs under real rewards, and checks that each estimates
// the mean of its profile.
func (s *smoke) checkScored(profiles []profile.Profile) {
	all, _, err := rowfile.ReadFile[measurement.Run](filepath.Join(s.out, filepath.FromSlash(measurement.RunsFile)))
	s.OK(err)
	count := 0
	for _, r := range all {
		if r.Rewards != measurement.Scored {
			continue
		}
		count++
		i := slices.IndexFunc(profiles, func(p profile.Profile) bool { return p.Benchmark == r.Benchmark && p.Model == r.Model })
		if i < 0 {
			s.Fatalf("a run of %s on %s, which has no profile", r.Model, r.Benchmark)
		}
		if mean := profiles[i].Mean(); math.Abs(r.Estimate-mean) > scoredTolerance {
			s.Errorf("a run of %s under real rewards estimates %.3f, the profile's mean is %.3f", profiles[i].Name(), r.Estimate, mean)
		}
	}
	if want := 2 * 3 * len(profiles); count != want {
		s.Errorf("%d runs under real rewards, want %d", count, want)
	}
}

// tables are some that must be there, each with what it must have.
var tables = []struct{ name, has string }{
	{"table1_variance.csv", "budget,oracle"},
	{"table2_compute.csv", ",simulated,"},
	{"table3_time.csv", ",simulated,"},
	{"table4_benefit.tex", `\begin{tabular}`},
	{"profile_ratios.csv", "smallbench"},
	{"numbers.tex", `\newcommand`},
}

func (s *smoke) checkTables() {
	for _, table := range tables {
		text, err := os.ReadFile(filepath.Join(s.out, "tables", table.name))
		if err != nil || !strings.Contains(string(text), table.has) {
			s.Errorf("%s lacks %q, %v", table.name, table.has, err)
		}
	}
}
