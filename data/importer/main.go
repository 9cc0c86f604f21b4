// Command importer makes data/profiles.parquet and data/measurements.parquet
// from the CSV files of the paper's data release, the same bytes from the same files:
//
//	go run ./data/importer -from DIR -to data
//
// DIR holds profiles.csv, benchmarks.csv, measurements.csv and
// uniform_equivalent.csv.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
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
	from := flag.String("from", "", "folder of the release's CSV files")
	to := flag.String("to", "data", "folder that the Parquet files go to")
	flag.Parse()
	if err := run(*from, *to); err != nil {
		fmt.Fprintln(os.Stderr, "importer:", err)
		os.Exit(1)
	}
}

// run imports the release in one folder into another. Nothing is written of a release with a fault.
func run(from, to string) error {
	profiles, err := profile.Read(filepath.Join(from, "profiles.csv"))
	if err != nil {
		return err
	}
	named := map[string]profile.Profile{}
	for _, p := range profiles {
		named[p.Name()] = p
	}
	scorers := map[string]string{} // by benchmark and number of tasks
	var runs []measurement.Measurement
	err = errors.Join(
		read(from, "benchmarks.csv", "benchmark,n_tasks,scorer", func(fields []string) error {
			scorers[fields[0]+" of "+fields[1]+" tasks"] = fields[2]
			return nil
		}),
		// The runs at the original budgets, and after them those of Uniform at the equivalent
		// ones, which wasted nothing (paper, Appendix B.5).
		read(from, "measurements.csv", "profile,budget,budget,time_seconds,useful_eflop,strategy,wasted_eflop,accepted_rollouts,extra_rollouts", func(fields []string) error {
			m, err := parseRun(named, fields)
			runs = append(runs, m)
			return err
		}),
		read(from, "uniform_equivalent.csv", "profile,reference_budget,budget,time_seconds,useful_eflop", func(fields []string) error {
			accepted := ""
			if budget, err := strconv.Atoi(fields[2]); err == nil {
				accepted = strconv.Itoa(named[fields[0]].N() * budget)
			}
			m, err := parseRun(named, append(fields, policy.UniformEquivalent.Name, "0", accepted, "0"))
			runs = append(runs, m)
			return err
		}))
	hash := sha256.New()
	for _, name := range []string{"profiles.csv", "benchmarks.csv", "measurements.csv", "uniform_equivalent.csv"} {
		content, fault := os.ReadFile(filepath.Join(from, name))
		err = errors.Join(err, fault)
		hash.Write(content)
	}
	for i, p := range profiles {
		benchmark, ok := fmt.Sprintf("%s of %d tasks", p.Benchmark, p.N()), false
		if profiles[i].Scorer, ok = scorers[benchmark]; !ok {
			err = errors.Join(err, fmt.Errorf("benchmarks.csv: no benchmark %s", benchmark))
		}
	}
	if err != nil {
		return err
	}
	// What was imported has the digest of the release's files as its key, and no commit made it.
	footer := func(schema string) map[string]string {
		return map[string]string{"speceval.schema": schema, "speceval.key": hex.EncodeToString(hash.Sum(nil)), "speceval.commit": measurement.Published}
	}
	return errors.Join(
		atomicfile.Write(filepath.Join(to, "profiles.parquet"), func(w io.Writer) error { return profile.Write(w, profiles, footer(profile.Schema)) }),
		atomicfile.Write(filepath.Join(to, "measurements.parquet"), func(w io.Writer) error { return rowfile.Write(w, runs, footer(measurement.Schema)) }))
}

// read reads columns of a file, row by row. Its error is the first fault.
func read(dir, name, columns string, row func(fields []string) error) error {
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	records, faults := csvfile.Parse(content, strings.Split(columns, ","))
	if len(faults) > 0 {
		return fmt.Errorf("%s: %w", name, faults[0])
	}
	for _, r := range records {
		if err := row(r.Fields); err != nil {
			return fmt.Errorf("%s: row %d: %w", name, r.Number, err)
		}
	}
	return nil
}

// parseRun is a run of a profile: its name, reference budget, budget, time, useful compute,
// strategy, wasted compute, accepted and extra rollouts.
func parseRun(named map[string]profile.Profile, fields []string) (measurement.Measurement, error) {
	p, known := named[fields[0]]
	if !known {
		return measurement.Measurement{}, fmt.Errorf("no profile %s", fields[0])
	}
	var faults []error
	integer := func(text string) int32 {
		value, err := strconv.ParseInt(text, 10, 32)
		faults = append(faults, err)
		return int32(value)
	}
	number := func(text string, exponent int) float64 {
		value, err := parseScaled(text, exponent)
		faults = append(faults, err)
		return value
	}
	m := measurement.Measurement{
		Benchmark: p.Benchmark, Model: p.Model, NTasks: int32(p.N()), Provenance: measurement.Published,
		ReferenceBudget: integer(fields[1]), Budget: integer(fields[2]), TimeSeconds: number(fields[3], 0), UsefulFLOPs: number(fields[4], 18),
		Strategy: fields[5], WastedFLOPs: number(fields[6], 18), AcceptedRollouts: integer(fields[7]), ExtraRollouts: integer(fields[8]),
	}
	if err := errors.Join(faults...); err != nil {
		return m, err
	}
	return m, m.Check()
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
