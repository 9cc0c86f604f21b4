package data_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"speceval/data"
	"speceval/internal/results/measurement"
	"speceval/internal/store/profile"
	"speceval/internal/store/rowfile"
)

// summary is what testdata/read.py says of a Parquet file.
type summary struct {
	Rows    int
	Columns [][2]string // name and pyarrow type
	Footer  map[string]string
	Sums    map[string]float64
	Nulls   map[string]int
	First   map[string]any
}

// TestOtherReadersReadTheSame reads our files with pyarrow and DuckDB, of the
// interpreter named by SPECEVAL_PYTHON or python3, and compares types, footer,
// counts, sums and nulls with ours. It is skipped where they are not
// installed, except under SPECEVAL_CI=1.
func TestOtherReadersReadTheSame(t *testing.T) {
	python := pythonWithReaders(t)
	dir := t.TempDir()

	profiles := filepath.Join(dir, "profiles.parquet")
	save(t, profiles, data.Profiles())
	for reader, got := range read(t, python, profiles) {
		if got.Rows != 8508 || got.Sums["pass_count"] != 4_137_190 || got.Sums["tested_k"] != 8_712_192 {
			t.Errorf("%s: %d rows, sums %v", reader, got.Rows, got.Sums)
		}
		if got.Footer["speceval.schema"] != profile.Schema || got.Footer["speceval.commit"] == "" || got.Footer["speceval.key"] == "" {
			t.Errorf("%s: footer %v", reader, got.Footer)
		}
		if got.First["task_id"] != "60" || got.First["scorer"] != "evalchemy_hendrycks_math_v1" {
			t.Errorf("%s: first row %v", reader, got.First)
		}
	}

	runs := must(measurement.Parse(data.Measurements(), data.MeasurementsName))
	var seconds float64
	for _, m := range runs {
		seconds += m.TimeSeconds
	}
	measurements := filepath.Join(dir, "measurements.parquet")
	save(t, measurements, data.Measurements())
	for reader, got := range read(t, python, measurements) {
		if off := got.Sums["time_seconds"]/seconds - 1; got.Rows != 1712 || off > 1e-12 || off < -1e-12 {
			t.Errorf("%s: %d rows, %v seconds, want %v", reader, got.Rows, got.Sums["time_seconds"], seconds)
		}
	}
}

// A fresh file with every column type, nulls, and two row groups.
func TestOtherReadersReadEveryType(t *testing.T) {
	type row struct {
		Name  string   `parquet:"name"`
		Small int32    `parquet:"small"`
		Big   int64    `parquet:"big"`
		Value float64  `parquet:"value"`
		Yes   bool     `parquet:"yes"`
		Maybe *float64 `parquet:"maybe"`
		Count *int32   `parquet:"count"`
	}
	python := pythonWithReaders(t)
	half, three := 0.5, int32(3)
	rows := make([]row, 130_000)
	for i := range rows {
		rows[i] = row{Name: "é", Small: -1, Big: 1 << 40, Value: 0.25, Yes: i%2 == 0}
		if i%4 == 0 {
			rows[i].Maybe, rows[i].Count = &half, &three
		}
	}
	var b bytes.Buffer
	ok(t, rowfile.Write(&b, rows, map[string]string{"k": "v"}))
	path := filepath.Join(t.TempDir(), "types.parquet")
	save(t, path, b.Bytes())
	for reader, got := range read(t, python, path) {
		want := map[string]float64{"small": -130_000, "big": 130_000 << 40, "value": 32_500, "yes": 65_000, "maybe": 16_250, "count": 97_500}
		for column, sum := range want {
			if got.Sums[column] != sum {
				t.Errorf("%s: sum of %s is %v, want %v", reader, column, got.Sums[column], sum)
			}
		}
		if got.Rows != len(rows) || got.Nulls["maybe"] != 97_500 || got.Nulls["count"] != 97_500 || got.Nulls["name"] != 0 {
			t.Errorf("%s: %d rows, nulls %v", reader, got.Rows, got.Nulls)
		}
		if got.Footer["k"] != "v" || got.First["name"] != "é" {
			t.Errorf("%s: footer %v, first row %v", reader, got.Footer, got.First)
		}
		if types := [][2]string{{"name", "string"}, {"small", "int32"}, {"big", "int64"}, {"value", "double"}, {"yes", "bool"}, {"maybe", "double"}, {"count", "int32"}}; reader == "pyarrow" && !equal(got.Columns, types) {
			t.Errorf("types %v, want %v", got.Columns, types)
		}
	}
}

// TestFilesOfOtherWritersAreRead reads profile files that pyarrow and DuckDB
// wrote in their own ways: other codecs, pages and integer widths.
func TestFilesOfOtherWritersAreRead(t *testing.T) {
	python := pythonWithReaders(t)
	dir := t.TempDir()
	source := filepath.Join(dir, "profiles.parquet")
	save(t, source, data.Profiles())
	python.run(t, "testdata/write.py", source, dir)
	want := published(t)
	paths, err := filepath.Glob(filepath.Join(dir, "other-*.parquet"))
	if err != nil || len(paths) < 5 {
		t.Fatalf("%d files, %v", len(paths), err)
	}
	for _, path := range paths {
		got, err := profile.Read(path)
		if err != nil {
			t.Errorf("%s: %v", filepath.Base(path), err)
			continue
		}
		for i := range got {
			if len(got) != len(want) || got[i].SHA256() != want[i].SHA256() || got[i].Scorer != want[i].Scorer {
				t.Errorf("%s: other profiles came back", filepath.Base(path))
				break
			}
		}
	}
}

func equal(a, b [][2]string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func save(t *testing.T, path string, content []byte) {
	t.Helper()
	ok(t, os.WriteFile(path, content, 0o644))
}

// interpreter is a Python with pyarrow and duckdb.
type interpreter string

func pythonWithReaders(t *testing.T) interpreter {
	t.Helper()
	python := os.Getenv("SPECEVAL_PYTHON")
	if python == "" {
		python = "python3"
	}
	if output, err := exec.Command(python, "-c", "import pyarrow.parquet, duckdb").CombinedOutput(); err != nil {
		if os.Getenv("SPECEVAL_CI") == "1" {
			t.Fatalf("%s cannot import pyarrow and duckdb: %v\n%s", python, err, output)
		}
		t.Skipf("%s cannot import pyarrow and duckdb; name one that can in SPECEVAL_PYTHON", python)
	}
	return interpreter(python)
}

func (p interpreter) run(t *testing.T, args ...string) []byte {
	t.Helper()
	output, err := exec.Command(string(p), args...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = errors.New(string(exit.Stderr))
		}
		t.Fatalf("%v: %v", args, err)
	}
	return output
}

// read gives each reader's summary of a file.
func read(t *testing.T, python interpreter, path string) map[string]summary {
	t.Helper()
	var summaries map[string]summary
	ok(t, json.Unmarshal(python.run(t, "testdata/read.py", path), &summaries))
	if len(summaries) != 2 {
		t.Fatalf("summaries of %d readers, want 2", len(summaries))
	}
	return summaries
}

// TestTheDefaultSearchAgreesWithTheLongOne reads what the best candidates of TS-Neyman
// were found to have at the paper's number of trajectories: with the control variate,
// without, and by the default search, within 3 standard errors.
func TestTheDefaultSearchAgreesWithTheLongOne(t *testing.T) {
	file := must(os.Open("ts_neyman_8192.csv"))
	defer file.Close()
	rows := must(csv.NewReader(file).ReadAll())
	if len(rows) != 5 {
		t.Fatalf("%d lines, want a head and four budgets", len(rows))
	}
	for _, row := range rows[1:] {
		of := map[string]float64{}
		for i, name := range rows[0] {
			of[name] = must(strconv.ParseFloat(row[i], 64))
		}
		apart := func(a, aSE, b, bSE string) {
			if d := math.Abs(of[a] - of[b]); d > 3*math.Hypot(of[aSE], of[bSE]) {
				t.Errorf("b = %v: %s is %v, %s %v", of["b"], a, of[a], b, of[b])
			}
		}
		apart("mse", "mse_se", "raw", "raw_se")
		apart("mse", "mse_se", "default_mse", "default_se")
		if of["draws"] != 8192 || of["mse_se"] > 0.0002 {
			t.Errorf("b = %v: %v trajectories, standard error %v", of["b"], of["draws"], of["mse_se"])
		}
	}
}
