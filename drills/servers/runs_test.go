//go:build drill

package servers_test

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"speceval/drills/drill"
	"strconv"
	"strings"

	"speceval/internal/measurement"
	"speceval/internal/profile"
	"speceval/internal/rowfile"
)

// setting is a profile at an average budget, as it was run.
type setting struct {
	profile    profile.Profile
	digest     string // that the profile's coupled rewards follow from
	seed       uint64 // master seed
	budget     int    // b
	allocation string // digest of HBN's final allocation, as `speceval allocations` prints it
}

func (s setting) name() string { return fmt.Sprintf("%s at %d", s.profile.Name(), s.budget) }

// run is an execution, and request a request of it, as their files have them.
type (
	run     = measurement.Run
	request = measurement.Request
)

// States of requests, and phases of rollouts.
const (
	accepted     = "accepted"
	discarded    = "completed_discarded"
	aborted      = "aborted_running"
	cancelled    = "cancelled_queued"
	pilot        = "pilot"
	continuation = "continuation"
)

// results are the runs of a setting and their requests.
type results struct {
	setting
	runs     []run
	requests map[runKey][]request // in the order of submission
}

// runKey names a run in its setting.
type runKey struct {
	strategy string
	repeat   int32
}

// of are the requests of one of the runs.
func (r *results) of(one run) []request { return r.requests[runKey{one.Strategy, one.Repeat}] }

// runName names a run of a setting.
func (s setting) runName(r run) string {
	return fmt.Sprintf("%s, %s, repeat %d", s.name(), r.Strategy, r.Repeat)
}

// readRuns reads the results of every setting in an output folder: of simulated runs or
// of measured ones. With optional a setting that has none is left out.
func (t *trial) readRuns(origin string, settings []setting, optional bool) (all []*results) {
	for _, s := range settings {
		file := func(what string) string {
			return filepath.Join(t.out, "systems", what, origin, "benchmark="+s.profile.Benchmark, "model="+s.profile.Model, fmt.Sprintf("budget=%d.parquet", s.budget))
		}
		r := &results{setting: s, requests: map[runKey][]request{}}
		var err error
		if r.runs, _, err = rowfile.ReadFile[run](file("runs")); optional && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		t.OK(err)
		requests, _, err := rowfile.ReadFile[request](file("requests"))
		t.OK(err)
		for _, q := range requests {
			k := runKey{q.Strategy, q.Repeat}
			r.requests[k] = append(r.requests[k], q)
		}
		all = append(all, r)
	}
	return all
}

// scratch is where an unfinished unit keeps its runs, below the outputs.
func (t *trial) scratch() string {
	return filepath.Join(t.out, "scratch", "systems", measurement.Measured)
}

// voidRuns lists the lines about void runs of units that are not finished.
func (t *trial) voidRuns() (lines []string) {
	paths, _ := filepath.Glob(filepath.Join(t.scratch(), "*", "*", "*", "void.txt")) // the pattern is good
	for _, path := range paths {
		lines = append(lines, strings.Split(strings.TrimSpace(string(t.Read(path))), "\n")...)
	}
	return lines
}

// keptRuns is when each run on servers that is stored was begun, of finished units and of
// others, by its name.
func (t *trial) keptRuns(settings []setting) map[string]string {
	all := map[string]string{}
	for _, r := range t.readRuns(measurement.Measured, settings, true) {
		for _, one := range r.runs {
			all[r.runName(one)] = one.Started
		}
	}
	for _, s := range settings {
		unit := filepath.Join(t.scratch(), s.profile.Name(), fmt.Sprintf("budget=%d", s.budget))
		paths, _ := filepath.Glob(filepath.Join(unit, "*", "*.run.parquet")) // the pattern is good
		for _, path := range paths {
			rows, _, err := rowfile.ReadFile[run](path)
			if errors.Is(err, fs.ErrNotExist) {
				continue // the unit was done just now
			}
			if err != nil || len(rows) != 1 {
				t.Fatalf("%s: %d rows: %v", path, len(rows), err)
			}
			all[s.runName(rows[0])] = rows[0].Started
		}
	}
	return all
}

// unchanged checks that all runs that were kept are there as they were.
func unchanged(l *drill.Lab, kept, now map[string]string) {
	for name, started := range kept {
		if now[name] != started {
			l.Errorf("%s was begun at %s, and is now of %q", name, started, now[name])
		}
	}
}

// allocate makes designs, and reads the allocations that follow from them, as `speceval
// allocations` prints them.
func (t *trial) allocate(settings []setting) {
	t.do("run", "replay")
	_, text, found := strings.Cut(t.do("allocations"), "benchmark,model,budget,allocation_sha256\n")
	if !found {
		t.Fatalf("no allocations in %q", text)
	}
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	t.OK(err)
	for i := range settings {
		s := &settings[i]
		at := slices.IndexFunc(rows, func(row []string) bool {
			return len(row) == 4 && row[0] == s.profile.Benchmark && row[1] == s.profile.Model && row[2] == strconv.Itoa(s.budget)
		})
		if at < 0 {
			t.Fatalf("no allocation of %s", s.name())
		}
		s.allocation = rows[at][3]
	}
}

// inTables checks that Tables 2 and 3 have a row of an origin for each of the budgets.
func (t *trial) inTables(origin string, budgets []int) {
	t.Sub("Tables 2 and 3 have the runs", func(l *drill.Lab) {
		for _, name := range []string{"table2_compute.csv", "table3_time.csv"} {
			rows, err := csv.NewReader(bytes.NewReader(l.Read(filepath.Join(t.out, "tables", name)))).ReadAll()
			l.OK(err)
			for _, budget := range budgets {
				if !slices.ContainsFunc(rows, func(row []string) bool { return row[0] == strconv.Itoa(budget) && row[1] == origin }) {
					l.Errorf("%s has no %s row at budget %d", name, origin, budget)
				}
			}
		}
	})
}

// runTable prints the runs, and the router's share of their time.
func runTable(l *drill.Lab, all []*results) {
	var rows [][]any
	var time, handling, largest float64
	for _, r := range all {
		for _, one := range r.runs {
			tokens, ended := r.aborts(one)
			share := one.Handling / one.Time
			rows = append(rows, []any{
				r.profile.Name(), r.budget, one.Strategy, fmt.Sprintf("%.3f", one.Time), fmt.Sprintf("%.2f%%", 100*share), one.Accepted, one.Prefetched,
				one.Discarded, one.Aborted, tokens, one.Cancelled, one.Races, fmt.Sprintf("%.3f", ended), one.Updates,
			})
			time, handling, largest = time+one.Time, handling+one.Handling, max(largest, share)
		}
	}
	columns := "profile|b:|strategy|time s:|handling:|accepted:|prefetched:|discarded:|aborted:|tokens there:|cancelled:|races:|ended s:|updates:"
	drill.Table(strings.Split(columns, "|"), rows)
	l.Logf("the router was at work in %.2f%% of the time, in one run in %.2f%%", 100*handling/cmp.Or(time, 1), 100*largest)
}

// aborts are the tokens that aborted requests of a run had made, as last seen, and the
// seconds from the allocation to the end of the last of them.
func (r *results) aborts(one run) (tokens int32, ended float64) {
	for _, q := range r.of(one) {
		if q.AbortedTokens != nil {
			tokens += *q.AbortedTokens
			ended = max(ended, q.Finished-one.Allocated)
		}
	}
	return tokens, ended
}

// predictedTimes prints the prediction of every strategy's time by Uniform's runs alone,
// with what was measured.
func (t *trial) predictedTimes() {
	rows, _, err := rowfile.ReadFile[measurement.Prediction](filepath.Join(t.out, filepath.FromSlash(measurement.PredictionsFile)))
	t.OK(err)
	for _, p := range rows {
		t.Logf("%s at b = %d of %s: predicted %.2f ± %.2f s, measured %.2f s: %+.1f%%",
			p.Strategy, p.Budget, p.Model, p.Predicted, p.PredictedSD, p.Measured, 100*(p.Predicted/p.Measured-1))
	}
}
