//go:build drill

// Package pins holds the published numbers in place: the bytes of every table and
// figure of `make reproduce`, and the columns of the tables of other runs.
package pins

import (
	"crypto/sha256"
	"encoding/csv"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// hash and columns are what is pinned of a CSV file.
func hash(csv []byte) string { return fmt.Sprintf("%x", sha256.Sum256(csv)) }

func columns(csv []byte) string {
	header, _, _ := strings.Cut(string(csv), "\n")
	return strings.TrimSpace(header)
}

// runs are the output folders that have pins, by the file of their pins in testdata. It has
// a line for each table and figure: its pin, two spaces, its name.
var runs = []struct {
	pins   string
	folder *string
	of     func(csv []byte) string
}{
	{"reproduce.sha256", flag.String("out", "", "output folder of make reproduce"), hash},
	{"smoke.columns", flag.String("smoke", "", "output folder of make smoke"), columns},
	{"live.columns", flag.String("live", "", "output folder of a run of experiments-live.toml"), columns},
}

var update = flag.Bool("update", false, "write the pins anew")

// documented are the columns of a result that a table of docs/reproduce.md has, and its digits.
var documented = []struct {
	csv     string
	columns []string
	digits  int
}{
	{"tables/table1_variance.csv", []string{"oracle", "tuned_en", "tuned_ibn", "hbn"}, 3},
	{"tables/table8_ts_neyman.csv", []string{"ts", "hbn", "delta"}, 4},
}

// documents wants the rows of tables in docs/reproduce.md to be those of a run.
func documents(t *testing.T, folder string) {
	page, err := os.ReadFile("../../docs/reproduce.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range documented {
		file, err := os.Open(filepath.Join(folder, d.csv))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		rows, err := csv.NewReader(file).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows[1:] {
			line := `(?m)^\| ` + row[0] + ` `
			for _, column := range d.columns {
				for _, name := range []string{column, "paper_" + column} {
					x, err := strconv.ParseFloat(row[slices.Index(rows[0], name)], 64)
					if err != nil {
						t.Fatal(err)
					}
					line += fmt.Sprintf(`\| %.*f( ± [0-9.]+)? `, d.digits, x)
				}
			}
			if !regexp.MustCompile(line + `\|$`).Match(page) {
				t.Errorf("%s: docs/reproduce.md has no line %s", d.csv, line)
			}
		}
	}
}

// TestPins compares each folder that is named with its pins, file by file.
func TestPins(t *testing.T) {
	compared := 0
	for _, run := range runs {
		if *run.folder == "" {
			continue
		}
		compared++
		t.Run(run.pins, func(t *testing.T) {
			folder := *run.folder
			if !filepath.IsAbs(folder) {
				folder = filepath.Join("../..", folder) // as make is called
			}
			paths, err := filepath.Glob(filepath.Join(folder, "[tf]*", "*.csv")) // tables and figures
			if err != nil || len(paths) == 0 {
				t.Fatalf("no tables in %s, %v", folder, err)
			}
			var got []string
			for _, path := range paths {
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				name, _ := filepath.Rel(folder, path) // it is below
				got = append(got, run.of(text)+"  "+name)
			}
			path := filepath.Join("testdata", run.pins)
			if *update {
				if err := os.WriteFile(path, []byte(strings.Join(got, "\n")+"\n"), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Split(strings.TrimSpace(string(text)), "\n")
			for _, pin := range want {
				if !slices.Contains(got, pin) {
					t.Errorf("pinned, and not there or another one: %s", pin)
				}
			}
			for _, pin := range got {
				if !slices.Contains(want, pin) {
					t.Errorf("not pinned: %s", pin)
				}
			}
			t.Logf("%d files compared", len(want))
			if run.folder == runs[0].folder {
				documents(t, folder)
			}
		})
	}
	if compared == 0 {
		t.Fatal("no folder is named: -args -out, -smoke or -live FOLDER")
	}
}
