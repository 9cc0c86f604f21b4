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

	"speceval/internal/policy"
	"speceval/internal/results/measurement"
	"speceval/internal/store/atomicfile"
	"speceval/internal/store/csvfile"
	"speceval/internal/store/profile"
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
		read(from, "benchmarks.csv", func(b benchmark) error {
			scorers[fmt.Sprintf("%s of %d tasks", b.Name, b.Tasks)] = b.Scorer
			return nil
		}),
		// The runs at the original budgets, and after them those of Uniform at the equivalent
		// ones, which wasted nothing (paper, Appendix B.5).
		read(from, "measurements.csv", func(r execution) error {
			m, err := r.measured(named, r.Budget)
			runs = append(runs, m)
			return err
		}),
		read(from, "uniform_equivalent.csv", func(e equivalent) error {
			r := execution{timed: e.timed, Strategy: policy.UniformEquivalent.Name, Wasted: "0", Accepted: e.Budget * int32(named[e.Profile].N())}
			m, err := r.measured(named, e.Reference)
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

// benchmark is a row of benchmarks.csv.
type benchmark struct {
	Name   string `csv:"benchmark"`
	Tasks  int    `csv:"n_tasks"`
	Scorer string `csv:"scorer"`
}

// timed has the columns of both files of runs.
type timed struct {
	Profile string  `csv:"profile"`
	Budget  int32   `csv:"budget"`
	Time    float64 `csv:"time_seconds"`
	Useful  string  `csv:"useful_eflop"`
}

// execution is a row of measurements.csv.
type execution struct {
	timed
	Strategy string `csv:"strategy"`
	Wasted   string `csv:"wasted_eflop"`
	Accepted int32  `csv:"accepted_rollouts"`
	Extra    int32  `csv:"extra_rollouts"`
}

// equivalent is a row of uniform_equivalent.csv.
type equivalent struct {
	timed
	Reference int32 `csv:"reference_budget"`
}

// read reads a file row by row. Its error is the first fault.
func read[T any](dir, name string, row func(T) error) error {
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	rows, numbers, faults := csvfile.Decode[T](content)
	if len(faults) > 0 {
		return fmt.Errorf("%s: %w", name, faults[0])
	}
	for i, r := range rows {
		if err := row(r); err != nil {
			return fmt.Errorf("%s: row %d: %w", name, numbers[i], err)
		}
	}
	return nil
}

// measured is a run of a profile in the setting of a reference budget.
func (r execution) measured(named map[string]profile.Profile, reference int32) (measurement.Measurement, error) {
	p, known := named[r.Profile]
	if !known {
		return measurement.Measurement{}, fmt.Errorf("no profile %s", r.Profile)
	}
	useful, err := parseScaled(r.Useful, 18)
	wasted, fault := parseScaled(r.Wasted, 18)
	if err = errors.Join(err, fault); err != nil {
		return measurement.Measurement{}, err
	}
	m := measurement.Measurement{
		Benchmark: p.Benchmark, Model: p.Model, NTasks: int32(p.N()), Provenance: measurement.Published,
		ReferenceBudget: reference, Budget: r.Budget, TimeSeconds: r.Time, UsefulFLOPs: useful,
		Strategy: r.Strategy, WastedFLOPs: wasted, AcceptedRollouts: r.Accepted, ExtraRollouts: r.Extra,
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
