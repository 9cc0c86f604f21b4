//go:build drill

package servers_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"speceval/drills/drill"
	"speceval/internal/measurement"
	"speceval/internal/profile"
	"speceval/internal/rowfile"
	"speceval/internal/vllm"
)

// setting is a profile at an average budget, as it was run.
type setting struct {
	profile    profile.Profile
	digest     string // that the profile's coupled rewards follow from
	budget     int    // b
	allocation string // digest of HBN's final allocation, as `speceval allocations` prints it
}

func (s *setting) name() string { return fmt.Sprintf("%s at %d", s.profile.Name(), s.budget) }

// quizzed are settings of a quiz.
func quizzed(p profile.Profile, budgets ...int) (all []setting) {
	for _, budget := range budgets {
		all = append(all, setting{profile: p, digest: p.SHA256(), budget: budget})
	}
	return all
}

// readAllocations reads the output of `speceval allocations` into settings.
func readAllocations(l *drill.Lab, text string, settings []setting) {
	l.Helper()
	for i := range settings {
		s := &settings[i]
		_, after, found := strings.Cut(text, fmt.Sprintf("\n%s,%s,%d,", s.profile.Benchmark, s.profile.Model, s.budget))
		if !found {
			l.Fatalf("no allocation of %s in %q", s.name(), text)
		}
		s.allocation, _, _ = strings.Cut(after, "\n")
	}
}

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
	accepted     = "accepted"
	discarded    = "completed_discarded"
	aborted      = "aborted_running"
	cancelled    = "cancelled_queued"
	pilot        = "pilot"
	continuation = "continuation"
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

// runTable prints the runs, and the router's share of their time.
func runTable(l *drill.Lab, all []run) {
	var rows [][]any
	var time, handling, largest float64
	for _, r := range all {
		share := r.Handling / r.Time
		rows = append(rows, []any{
			r.name(), fmt.Sprintf("%.3f", r.Time), fmt.Sprintf("%.2f%%", 100*share), r.Accepted, r.Prefetched, r.Discarded,
			r.Aborted, r.Cancelled, r.Races, r.Updates,
		})
		time, handling, largest = time+r.Time, handling+r.Handling, max(largest, share)
	}
	drill.Table([]string{
		"run", "time s:", "handling:", "accepted:", "prefetched:", "discarded:", "aborted:", "cancelled:", "races:", "updates:",
	}, rows)
	l.Logf("the router was at work in %.2f%% of the time, in one run in %.2f%%", 100*handling/cmp.Or(time, 1), 100*largest)
}

// sample is a server's metrics at a time.
type sample struct {
	at       time.Time // when it had answered
	replica  int
	requests int     // running and waiting
	tokens   float64 // generated since its start
}

// poll asks a server once for its metrics.
func poll(ctx context.Context, url string, replica int) (sample, error) {
	c, err := vllm.New(url, vllm.Options{})
	if err != nil {
		return sample{}, err
	}
	defer c.Close()
	m, err := c.Metrics(ctx)
	return sample{time.Now(), replica, m.Running + m.Waiting, m.GenerationTokens}, err
}

// sampled asks every server once.
func sampled(l *drill.Lab, urls []string) (all []sample) {
	l.Helper()
	for i, url := range urls {
		s, err := poll(l.Ctx, url, i)
		l.OK(err)
		all = append(all, s)
	}
	return all
}

// watchEvery is how often watched polls a server.
const watchEvery = 100 * time.Millisecond

// watched polls servers while something is done. The samples are in order of time; a server
// that does not answer gives none.
func watched(l *drill.Lab, urls []string, do func()) (all []sample) {
	ctx, stop := context.WithCancel(l.Ctx)
	var mu sync.Mutex
	var polls sync.WaitGroup
	for i, url := range urls {
		polls.Go(func() {
			for ctx.Err() == nil {
				if s, err := poll(ctx, url, i); err == nil {
					mu.Lock()
					all = append(all, s)
					mu.Unlock()
				}
				select {
				case <-ctx.Done():
				case <-time.After(watchEvery):
				}
			}
		})
	}
	do()
	stop()
	polls.Wait()
	return all
}

// inFlight is how many requests servers have.
func inFlight(samples []sample) (n int) {
	for _, s := range samples {
		n += s.requests
	}
	return n
}

// tokensMade is how many tokens servers have made between their first and their last
// sample; a count that fell began anew.
func tokensMade(samples []sample) float64 {
	last, made := map[int]float64{}, 0.0
	for _, s := range samples {
		before, seen := last[s.replica]
		switch {
		case seen && s.tokens >= before:
			made += s.tokens - before
		case seen:
			made += s.tokens
		}
		last[s.replica] = s.tokens
	}
	return made
}

// surplusGone is the longest that servers had requests that were aborted, after the
// allocation that made them surplus, as far as samples show, and of how many runs they do.
// A server that had aborted requests of a run is without them when it is first seen with no
// more than those that were not.
func surplusGone(l *drill.Lab, all []run, samples []sample) (longest time.Duration, runs int) {
	for _, r := range all {
		had := map[int]bool{}
		for _, q := range r.requests {
			if q.AbortedTokens != nil && *q.AbortedTokens > 0 {
				had[int(q.Replica)] = true
			}
		}
		if len(had) == 0 {
			continue
		}
		runs++
		started, err := time.Parse(time.RFC3339Nano, r.Started)
		l.OK(err)
		for _, s := range samples {
			at := s.at.Sub(started).Seconds()
			for _, q := range r.requests {
				if int(q.Replica) == s.replica && q.AbortedTokens == nil && q.Submitted <= at && q.Finished >= at {
					s.requests--
				}
			}
			if had[s.replica] && at >= r.Allocated && s.requests <= 0 {
				had[s.replica] = false
				longest = max(longest, time.Duration((at-r.Allocated)*float64(time.Second)))
			}
		}
		for replica, still := range had {
			if still {
				l.Errorf("%s: replica %d was not seen without surplus requests", r.name(), replica)
			}
		}
	}
	return longest, runs
}
