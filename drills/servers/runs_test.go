//go:build drill

package servers_test

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"speceval/drills/drill"
	"speceval/internal/results/measurement"
	"speceval/internal/servers/vllm"
	"speceval/internal/store/profile"
	"speceval/internal/store/rowfile"
)

// setting is a profile at an average budget, as it was run.
type setting struct {
	profile profile.Profile
	budget  int // b
}

func (s *setting) name() string { return fmt.Sprintf("%s at %d", s.profile.Name(), s.budget) }

// run is an execution in a setting, and its requests in the order of submission, as their
// files have them.
type run struct {
	measurement.Run
	of       *setting
	requests []measurement.Request
}

func (r run) name() string { return runName(r.Run) }

func runName(r measurement.Run) string {
	return fmt.Sprintf("%s__model=%s at %d, %s, repeat %d", r.Benchmark, r.Model, r.ReferenceBudget, r.Strategy, r.Repeat)
}

// States of requests, and phases of rollouts.
const (
	accepted  = "accepted"
	discarded = "completed_discarded"
	aborted   = "aborted_running"
	cancelled = "cancelled_queued"
	pilot     = "pilot"
)

// readRuns reads the runs of every setting in an output folder: simulated or measured ones.
func readRuns(l *drill.Lab, out, origin string, settings []setting) (all []run) {
	l.Helper()
	for i := range settings {
		s := &settings[i]
		folder := filepath.Join(origin, "benchmark="+s.profile.Benchmark, "model="+s.profile.Model)
		file := fmt.Sprintf("budget=%d.parquet", s.budget)
		rows, _, err := rowfile.ReadFile[measurement.Run](filepath.Join(out, "systems/runs", folder, file))
		l.OK(err)
		requests, _, err := rowfile.ReadFile[measurement.Request](filepath.Join(out, "systems/requests", folder, file))
		l.OK(err)
		for _, row := range rows {
			r := run{Run: row, of: s}
			for _, q := range requests {
				if q.Strategy == row.Strategy && q.Repeat == row.Repeat {
					r.requests = append(r.requests, q)
				}
			}
			all = append(all, r)
		}
	}
	return all
}

// keptRuns is when each run on servers that is stored was begun, of finished units and of
// others, by its name.
func keptRuns(l *drill.Lab, out string) map[string]string {
	l.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"systems/runs/measured/*/*/*.parquet", "scratch/systems/measured/*/*/*/*.run.parquet"} {
		paths, _ := filepath.Glob(filepath.Join(out, pattern)) // the pattern is good
		for _, path := range paths {
			rows, _, err := rowfile.ReadFile[measurement.Run](path)
			if errors.Is(err, fs.ErrNotExist) {
				continue // the unit was done just now
			}
			l.OK(err)
			for _, r := range rows {
				all[runName(r)] = r.Started
			}
		}
	}
	return all
}

// unchanged checks that all runs that were kept are there as they were.
func unchanged(l *drill.Lab, kept, now map[string]string) {
	l.Helper()
	for name, started := range kept {
		if now[name] != started {
			l.Errorf("%s was begun at %s, and is now of %q", name, started, now[name])
		}
	}
}

// voidRuns lists the lines about void runs of units that are not finished.
func voidRuns(l *drill.Lab, out string) (lines []string) {
	l.Helper()
	paths, _ := filepath.Glob(filepath.Join(out, "scratch/systems/measured/*/*/*/void.txt")) // the pattern is good
	for _, path := range paths {
		lines = append(lines, strings.Split(strings.TrimSpace(string(l.Read(path))), "\n")...)
	}
	return lines
}

// inTables checks that Tables 2 and 3 have a row of an origin for each budget.
func inTables(l *drill.Lab, out, origin string, settings []setting) {
	l.Sub("Tables 2 and 3 have the runs", func(l *drill.Lab) {
		for _, name := range []string{"table2_compute.csv", "table3_time.csv"} {
			text := string(l.Read(filepath.Join(out, "tables", name)))
			for _, s := range settings {
				if !strings.Contains(text, fmt.Sprintf("\n%d,%s,", s.budget, origin)) {
					l.Errorf("%s has no %s row at budget %d", name, origin, s.budget)
				}
			}
		}
	})
}

// handled prints the router's share of the runs' time.
func handled(l *drill.Lab, all []run) {
	var time, handling, largest float64
	for _, r := range all {
		time, handling, largest = time+r.Time, handling+r.Handling, max(largest, r.Handling/r.Time)
	}
	l.Logf("the router was at work in %.2f%% of the time, in one run in %.2f%%", 100*handling/cmp.Or(time, 1), 100*largest)
}

// sample is a server's metrics.
type sample struct {
	requests int     // running and waiting
	tokens   float64 // generated since its start
}

// sampled asks every server once for its metrics.
func sampled(l *drill.Lab, urls []string) (all []sample) {
	l.Helper()
	for _, url := range urls {
		c, err := vllm.New(url, vllm.Options{})
		l.OK(err)
		m, err := c.Metrics(l.Ctx)
		c.Close()
		l.OK(err)
		all = append(all, sample{m.Running + m.Waiting, m.GenerationTokens})
	}
	return all
}

// inFlight is how many requests servers have.
func inFlight(samples []sample) (n int) {
	for _, s := range samples {
		n += s.requests
	}
	return n
}
