package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speceval/internal/results/measurement"
	"speceval/internal/store/profile"
	"speceval/internal/store/rowfile"
)

// release is a data release of one profile.
func release() map[string]string {
	return map[string]string{
		"profiles.csv":           "benchmark,model,task_index,task_id,pass_count,tested_k\nb,m,0,x,1,4\nb,m,1,y,2,4\n",
		"benchmarks.csv":         "benchmark,n_tasks,scorer\nb,2,v1\n",
		"measurements.csv":       "profile,model,budget,strategy,time_seconds,useful_eflop,wasted_eflop,accepted_rollouts,extra_rollouts\nb__model=m,m,8,hbn-async,1.5,0.1,0.0,16,3\n",
		"uniform_equivalent.csv": "profile,reference_budget,budget,time_seconds,useful_eflop\nb__model=m,8,9,2.5,2.5e-05\n",
	}
}

func write(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestImportKeepsValuesAndBytes(t *testing.T) {
	from := write(t, release())
	var files [2][]byte
	for i := range files {
		to := t.TempDir()
		if err := run(from, to); err != nil {
			t.Fatal(err)
		}
		profiles, err := profile.Read(filepath.Join(to, "profiles.parquet"))
		if err != nil || len(profiles) != 1 || profiles[0].Scorer != "v1" || fmt.Sprint(profiles[0].PassCounts) != "[1 2]" {
			t.Errorf("profiles %v, %v", profiles, err)
		}
		if files[i], err = os.ReadFile(filepath.Join(to, "measurements.parquet")); err != nil {
			t.Fatal(err)
		}
	}
	runs, _, err := rowfile.Decode[measurement.Measurement](files[0], "m") // two runs are no whole setting
	if err != nil || len(runs) != 2 || runs[0].UsefulFLOPs != 1e17 || runs[1].UsefulFLOPs != 2.5e13 || runs[1].AcceptedRollouts != 18 {
		t.Errorf("runs %v, %v", runs, err)
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("two imports gave different bytes")
	}
}

func TestBadReleasesAreRefused(t *testing.T) {
	cases := []struct{ file, old, new, want string }{
		{"profiles.csv", ",2,4", ",5,4", "profiles.csv: row 2: pass_count 5"},
		{"benchmarks.csv", "b,2", "b,3", "no benchmark b of 2 tasks"},
		{"measurements.csv", "b__model=m", "c__model=m", "measurements.csv: row 1: no profile c__model=m"},
		{"measurements.csv", ",16,", ",17,", "accepted_rollouts 17"},
		{"measurements.csv", "0.1", "lots", `"lots`},
		{"uniform_equivalent.csv", "2.5e-05", "2e5e5", "is not a number"},
		{"uniform_equivalent.csv", "budget,time", "budgets,time", "column budget is missing"},
	}
	for _, c := range cases {
		files := release()
		files[c.file] = strings.Replace(files[c.file], c.old, c.new, 1)
		to := t.TempDir()
		err := run(write(t, files), to)
		if !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s with %q: error %q, want one with %q", c.file, c.new, fmt.Sprint(err), c.want)
		}
		if left, _ := os.ReadDir(to); len(left) > 0 {
			t.Errorf("%s with %q: left %v behind", c.file, c.new, left)
		}
	}
}

func TestScaledDecimalsAreRoundedOnce(t *testing.T) {
	// Parsed first and then multiplied, the first would be 16771609201844226.
	for text, want := range map[string]float64{"0.016771609201844225": 16771609201844224, "2.5E-05": 2.5e13, "0.0": 0, "1e3": 1e21} {
		if got, err := parseScaled(text, 18); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
}
