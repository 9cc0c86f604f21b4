package servers

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

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
// of measured ones. It is an error if a setting has none, or with optional it is left out.
func readRuns(out, origin string, settings []setting, optional bool) ([]*results, error) {
	var all []*results
	for _, s := range settings {
		file := func(what string) string {
			return filepath.Join(out, "systems", what, origin, "benchmark="+s.profile.Benchmark, "model="+s.profile.Model, fmt.Sprintf("budget=%d.parquet", s.budget))
		}
		r := &results{setting: s, requests: map[runKey][]request{}}
		var requests []request
		var err error
		if r.runs, _, err = rowfile.ReadFile[run](file("runs")); err == nil {
			requests, _, err = rowfile.ReadFile[request](file("requests"))
		}
		if optional && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s runs of %s: %w", origin, s.name(), err)
		}
		for _, q := range requests {
			k := runKey{q.Strategy, q.Repeat}
			r.requests[k] = append(r.requests[k], q)
		}
		all = append(all, r)
	}
	return all, nil
}

// scratch is where an unfinished unit keeps its runs, below the outputs.
func scratch(out string) string {
	return filepath.Join(out, "scratch", "systems", measurement.Measured)
}

// voidRuns lists the lines about void runs of units that are not finished.
func voidRuns(out string) ([]string, error) {
	paths, _ := filepath.Glob(filepath.Join(scratch(out), "*", "*", "*", "void.txt")) // the pattern is good
	var lines []string
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		lines = append(lines, strings.Split(strings.TrimSpace(string(text)), "\n")...)
	}
	return lines, nil
}

// keptRuns is when each run on servers that is stored was begun, of finished units and of
// others, by its name.
func keptRuns(out string, settings []setting) (map[string]string, error) {
	all := map[string]string{}
	finished, err := readRuns(out, measurement.Measured, settings, true)
	if err != nil {
		return nil, err
	}
	for _, r := range finished {
		for _, one := range r.runs {
			all[r.runName(one)] = one.Started
		}
	}
	for _, s := range settings {
		unit := filepath.Join(scratch(out), s.profile.Name(), fmt.Sprintf("budget=%d", s.budget))
		paths, _ := filepath.Glob(filepath.Join(unit, "*", "*.run.parquet")) // the pattern is good
		for _, path := range paths {
			rows, _, err := rowfile.ReadFile[run](path)
			if errors.Is(err, os.ErrNotExist) {
				continue // the unit was done just now
			}
			if err != nil || len(rows) != 1 {
				return nil, fmt.Errorf("%s: %d rows: %w", path, len(rows), err)
			}
			all[s.runName(rows[0])] = rows[0].Started
		}
	}
	return all, nil
}

// unchanged is an error unless all runs that were kept are there as they were.
func unchanged(kept, now map[string]string) error {
	var faults []error
	for name, started := range kept {
		if now[name] != started {
			faults = append(faults, fmt.Errorf("%s was begun at %s, and is now of %q", name, started, now[name]))
		}
	}
	return errors.Join(faults...)
}

// readAllocations reads what `speceval allocations` has printed into settings.
func readAllocations(text string, settings []setting) error {
	_, text, found := strings.Cut(text, "benchmark,model,budget,allocation_sha256\n")
	if !found {
		return fmt.Errorf("no allocations in %q", text)
	}
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return fmt.Errorf("allocations: %w", err)
	}
	for i := range settings {
		s := &settings[i]
		at := slices.IndexFunc(rows, func(row []string) bool {
			return len(row) == 4 && row[0] == s.profile.Benchmark && row[1] == s.profile.Model && row[2] == strconv.Itoa(s.budget)
		})
		if at < 0 {
			return fmt.Errorf("no allocation of %s", s.name())
		}
		s.allocation = rows[at][3]
	}
	return nil
}

// inTables checks that Tables 2 and 3 have a row of an origin for each of the budgets.
func inTables(out, origin string, budgets []int) error {
	for _, name := range []string{"table2_compute.csv", "table3_time.csv"} {
		text, err := os.ReadFile(filepath.Join(out, "tables", name))
		if err != nil {
			return err
		}
		rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, budget := range budgets {
			if !slices.ContainsFunc(rows, func(row []string) bool { return row[0] == strconv.Itoa(budget) && row[1] == origin }) {
				return fmt.Errorf("%s has no %s row at budget %d", name, origin, budget)
			}
		}
	}
	return nil
}

// runTable prints the runs, and the router's share of their time.
func runTable(w io.Writer, all []*results) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "profile\tb\tstrategy\ttime s\thandling\taccepted\tprefetched\tdiscarded\taborted\ttokens there\tcancelled\traces\tended s\tupdates\t")
	var time, handling, largest float64
	for _, r := range all {
		for _, one := range r.runs {
			tokens, ended := r.aborts(one)
			share := one.Handling / one.Time
			fmt.Fprintf(table, "%s\t%d\t%s\t%.3f\t%.2f%%\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.3f\t%d\t\n",
				r.profile.Name(), r.budget, one.Strategy, one.Time, 100*share, one.Accepted,
				one.Prefetched, one.Discarded, one.Aborted, tokens, one.Cancelled, one.Races, ended, one.Updates)
			time, handling, largest = time+one.Time, handling+one.Handling, max(largest, share)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "the router was at work in %.2f%% of the time, in one run in %.2f%%\n", 100*handling/cmp.Or(time, 1), 100*largest)
	return err
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
func predictedTimes(w io.Writer, out string) error {
	rows, _, err := rowfile.ReadFile[measurement.Prediction](filepath.Join(out, filepath.FromSlash(measurement.PredictionsFile)))
	for _, p := range rows {
		fmt.Fprintf(w, "%s at b = %d of %s: predicted %.2f ± %.2f s, measured %.2f s: %+.1f%%\n",
			p.Strategy, p.Budget, p.Model, p.Predicted, p.PredictedSD, p.Measured, 100*(p.Predicted/p.Measured-1))
	}
	return err
}
