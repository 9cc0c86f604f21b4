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

	"speceval/internal/atomicfile"
	"speceval/internal/measurement"
	"speceval/internal/profile"
	"speceval/internal/rowfile"
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
