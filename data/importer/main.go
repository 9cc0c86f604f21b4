// Command importer makes data/profiles.parquet and data/measurements.parquet
// from the CSV files of the paper's data release. It is run by hand, once for
// every new release, and makes the same bytes from the same files:
//
//	go run ./data/importer -from DIR -to data
//
// DIR holds profiles.csv, benchmarks.csv, measurements.csv and
// uniform_equivalent.csv.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"speceval/internal/measurement"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/store/atomicfile"
	"speceval/internal/store/csvfile"
	"speceval/internal/store/rowfile"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "importer:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("importer", flag.ContinueOnError)
	from := flags.String("from", "", "folder of the release's CSV files")
	to := flags.String("to", "data", "folder that the Parquet files go to")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *from == "" {
		return fmt.Errorf("-from DIR is needed: the folder of the release's CSV files")
	}
	key, err := digest(*from, "profiles.csv", "benchmarks.csv", "measurements.csv", "uniform_equivalent.csv")
	if err != nil {
		return err
	}
	profiles, err := importProfiles(*from)
	if err != nil {
		return err
	}
	runs, err := importMeasurements(*from, profiles)
	if err != nil {
		return err
	}
	err = atomicfile.Write(filepath.Join(*to, "profiles.parquet"), func(w io.Writer) error {
		return profile.Write(w, profiles, footer(profile.Schema, key))
	})
	if err != nil {
		return err
	}
	err = atomicfile.Write(filepath.Join(*to, "measurements.parquet"), func(w io.Writer) error {
		return rowfile.Write(w, runs, footer(measurement.Schema, key))
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%d profiles, %d measurements\n", len(profiles), len(runs))
	return err
}

// digest is the SHA-256 of the contents of files, one after the other.
func digest(dir string, names ...string) (string, error) {
	hash := sha256.New()
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return "", err
		}
		hash.Write(data)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// footer says that a file was imported, not computed: its key is the digest of
// the release's files, and no commit made it.
func footer(schema, key string) map[string]string {
	return map[string]string{"speceval.schema": schema, "speceval.key": key, "speceval.commit": measurement.Published}
}

// importProfiles reads the release's profiles and gives each the scorer of
// its benchmark.
func importProfiles(dir string) ([]profile.Profile, error) {
	profiles, err := profile.Read(filepath.Join(dir, "profiles.csv"))
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "benchmarks.csv")
	records, err := readCSV(path, "benchmark", "n_tasks", "scorer")
	if err != nil {
		return nil, err
	}
	benchmarks := map[string][]string{}
	for _, r := range records {
		benchmarks[r.Fields[0]] = r.Fields
	}
	for i, p := range profiles {
		fields, ok := benchmarks[p.Benchmark]
		if !ok || fields[1] != strconv.Itoa(p.N()) {
			return nil, fmt.Errorf("%s: no benchmark %s of %d tasks", path, p.Benchmark, p.N())
		}
		profiles[i].Scorer = fields[2]
	}
	return profiles, nil
}

// importMeasurements reads the runs at the original budgets and, after them,
// those at the rounded-equivalent budgets, which accepted n_tasks × budget
// rollouts and wasted nothing (paper, Appendix B.5).
func importMeasurements(dir string, profiles []profile.Profile) ([]measurement.Measurement, error) {
	named := map[string]profile.Profile{}
	for _, p := range profiles {
		named[p.Name()] = p
	}
	runs, err := readRuns(filepath.Join(dir, "measurements.csv"), named,
		"profile", "budget", "budget", "time_seconds", "useful_eflop", "strategy", "wasted_eflop", "accepted_rollouts", "extra_rollouts")
	if err != nil {
		return nil, err
	}
	equivalent, err := readRuns(filepath.Join(dir, "uniform_equivalent.csv"), named,
		"profile", "reference_budget", "budget", "time_seconds", "useful_eflop")
	return append(runs, equivalent...), err
}

// readRuns reads a file of runs. The columns are profile, reference budget,
// budget, time and useful compute, and for runs that are not Uniform at an
// equivalent budget also strategy, wasted compute, accepted and extra rollouts.
func readRuns(path string, named map[string]profile.Profile, columns ...string) ([]measurement.Measurement, error) {
	records, err := readCSV(path, columns...)
	if err != nil {
		return nil, err
	}
	var runs []measurement.Measurement
	for _, r := range records {
		p, ok := named[r.Fields[0]]
		if !ok {
			return nil, fmt.Errorf("%s: row %d: no profile %s", path, r.Number, r.Fields[0])
		}
		m, err := parseRun(p, r.Fields)
		if err == nil {
			err = m.Check()
		}
		if err != nil {
			return nil, fmt.Errorf("%s: row %d: %w", path, r.Number, err)
		}
		runs = append(runs, m)
	}
	return runs, nil
}

func parseRun(p profile.Profile, fields []string) (measurement.Measurement, error) {
	var fault error
	integer := func(text string) int32 {
		value, err := strconv.ParseInt(text, 10, 32)
		fault = first(fault, err)
		return int32(value)
	}
	number := func(text string, exponent int) float64 {
		value, err := parseScaled(text, exponent)
		fault = first(fault, err)
		return value
	}
	m := measurement.Measurement{
		Benchmark: p.Benchmark, Model: p.Model, NTasks: int32(p.N()),
		ReferenceBudget: integer(fields[1]), Budget: integer(fields[2]),
		Strategy: policy.UniformEquivalent.Name, Provenance: measurement.Published,
		TimeSeconds: number(fields[3], 0), UsefulFLOPs: number(fields[4], 18),
	}
	if len(fields) == 5 {
		m.AcceptedRollouts = m.NTasks * m.Budget
		return m, fault
	}
	m.Strategy, m.WastedFLOPs = fields[5], number(fields[6], 18)
	m.AcceptedRollouts, m.ExtraRollouts = integer(fields[7]), integer(fields[8])
	return m, fault
}

func first(fault, err error) error {
	if fault != nil {
		return fault
	}
	return err
}

// parseScaled parses a decimal number times a power of ten, rounding once:
// the release counts in EFLOP, we in FLOP.
func parseScaled(text string, exponent int) (float64, error) {
	mantissa, power, found := strings.Cut(strings.ToLower(text), "e")
	if found {
		own, err := strconv.Atoi(power)
		if err != nil {
			return 0, fmt.Errorf("%q is not a number", text)
		}
		exponent += own
	}
	return strconv.ParseFloat(mantissa+"e"+strconv.Itoa(exponent), 64)
}

// readCSV reads the named columns of a file; the first fault is its error.
func readCSV(path string, columns ...string) ([]csvfile.Record, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	records, faults := csvfile.Parse(data, columns)
	if len(faults) > 0 {
		return nil, fmt.Errorf("%s: %w", path, faults[0])
	}
	return records, nil
}
