//go:build drill

// Package pins holds the published numbers in place: the bytes of every table and
// figure of `make reproduce`, and the columns of the tables of other runs.
package pins

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// hash and columns are what is pinned of a CSV file.
func hash(csv []byte) string { return fmt.Sprintf("%x", sha256.Sum256(csv)) }

func columns(csv []byte) string {
	header, _, _ := strings.Cut(string(csv), "\n")
	return strings.TrimSpace(header)
}

// runs are the output folders that have pins, by the file of their pins in testdata.
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
			got := pinned(t, folder, run.of)
			path := filepath.Join("testdata", run.pins)
			if *update {
				write(t, path, got)
			}
			want := read(t, path)
			for _, file := range slices.Sorted(maps.Keys(want)) {
				switch is, ok := got[file]; {
				case !ok:
					t.Errorf("%s is not there", file)
				case is != want[file]:
					t.Errorf("%s: %s, pinned %s", file, is, want[file])
				}
			}
			for _, file := range slices.Sorted(maps.Keys(got)) {
				if _, ok := want[file]; !ok {
					t.Errorf("%s has no pin", file)
				}
			}
			t.Logf("%d files compared", len(want))
		})
	}
	if compared == 0 {
		t.Fatal("no folder is named: -args -out, -smoke or -live FOLDER")
	}
}

// pinned are the tables and figures of an output folder, and what is pinned of each.
func pinned(t *testing.T, folder string, of func([]byte) string) map[string]string {
	got := map[string]string{}
	for _, kind := range []string{"tables", "figures"} {
		paths, err := filepath.Glob(filepath.Join(folder, kind, "*.csv"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got[kind+"/"+filepath.Base(path)] = of(text)
		}
	}
	if len(got) == 0 {
		t.Fatalf("no tables in %s", folder)
	}
	return got
}

// A file of pins has a line for each file: its pin, two spaces, its name.
func read(t *testing.T, path string) map[string]string {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	pins := map[string]string{}
	for line := range strings.Lines(string(text)) {
		pin, file, _ := strings.Cut(strings.TrimSpace(line), "  ")
		pins[file] = pin
	}
	return pins
}

func write(t *testing.T, path string, pins map[string]string) {
	var text strings.Builder
	for _, file := range slices.Sorted(maps.Keys(pins)) {
		fmt.Fprintf(&text, "%s  %s\n", pins[file], file)
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
}
