package measured

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speceval/internal/policy"
	"speceval/internal/results/measurement"
	"speceval/internal/results/variance"
	"speceval/internal/store/profile"
	"speceval/internal/store/rowfile"
	"speceval/internal/terminal/table"
	"speceval/pipeline/pair"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// results are stored results to make tables of.
type results struct {
	profiles    []profile.Profile
	ratios      []variance.Ratio
	errors      []variance.ProfileError
	runs        []measurement.Run
	predictions []measurement.Prediction
}

// store writes rows to a file of an output folder, which is not there without any.
func store[T any](t *testing.T, dir, file string, rows []T) {
	t.Helper()
	var b bytes.Buffer
	path := filepath.Join(dir, filepath.FromSlash(file))
	if len(rows) == 0 {
		return
	}
	if err := rowfile.Write(&b, rows, nil); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

// source stores the results in a folder of their own.
func (r results) source(t *testing.T) *stored.Source {
	t.Helper()
	dir := t.TempDir()
	store(t, dir, measurement.RunsFile, r.runs)
	store(t, dir, measurement.PredictionsFile, r.predictions)
	store(t, dir, variance.TwoStageFile, r.ratios)
	store(t, dir, variance.ErrorsFile, r.errors)
	settings := &stored.Settings{}
	for _, p := range r.profiles {
		settings.Pairs = append(settings.Pairs, pair.Known(p))
	}
	return stored.NewSource(settings, stored.Folder(dir))
}

// sheet makes a table of the results.
func (r results) sheet(t *testing.T, of *model.Table) *model.Sheet {
	t.Helper()
	s, err := of.Sheet(r.source(t))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// at is a cell of a sheet's data.
func at(t *testing.T, s *model.Sheet, row int, column string) table.Cell {
	t.Helper()
	data := s.Data()
	for j, c := range data.Columns {
		if c.Name == column {
			return data.Rows[row][j]
		}
	}
	t.Fatalf("%s has no column %s", s.Base, column)
	return table.Cell{}
}

func number(t *testing.T, s *model.Sheet, row int, column string, want float64) {
	t.Helper()
	if got, ok := at(t, s, row, column).Float(); !ok || math.Abs(got-want) > 1e-12 {
		t.Errorf("%s, row %d: %s is %v, want %v", s.Base, row, column, at(t, s, row, column).Exact(), want)
	}
}

func whole(t *testing.T, s *model.Sheet, row int, column, want string) {
	t.Helper()
	if got := at(t, s, row, column).Exact(); got != want {
		t.Errorf("%s, row %d: %s is %q, want %q", s.Base, row, column, got, want)
	}
}

var twoTasks = profile.Profile{Benchmark: "quiz", Model: "m", TaskIDs: []string{"a", "b"}, PassCounts: []int{25, 75}, TestedK: 100}

// run is one that estimates a mean; of another provenance, profile, budget or kind of
// rewards it must not be counted with the others.
func run(strategy string, estimate float64) measurement.Run {
	return measurement.Run{Benchmark: "quiz", Model: "m", ReferenceBudget: 8, Strategy: strategy, Provenance: measurement.Measured, Rewards: measurement.Scored, Estimate: estimate}
}

func TestVariancesAreAboutEachStrategysOwnMean(t *testing.T) {
	coupled, other := run(measurement.Uniform, 9), run(measurement.Uniform, 9)
	coupled.Rewards, other.ReferenceBudget = measurement.Coupled, 16
	s := results{
		profiles: []profile.Profile{twoTasks},
		ratios:   []variance.Ratio{{Subject: variance.Subject{Benchmark: "quiz", Model: "m", NTasks: 2, Budget: 8, Policy: policy.HBN.Name, Donors: "none"}, VarianceRatio: 0.5, RatioSE: 0.1}},
		runs: []measurement.Run{
			run(measurement.Uniform, 0.1), run(measurement.Uniform, 0.9), coupled,
			run(measurement.HBNSync, 0.4), run(measurement.HBNSync, 0.6),
			run(measurement.HBNAsync, 0.7), run(measurement.HBNAsync, 0.7), run(measurement.HBNAsync, 1.0), other,
		}}.sheet(t, Variance)
	if s.Rows != 4 {
		t.Fatalf("%d rows, want 3 of b = 8 and one of b = 16", s.Rows)
	}
	for i, want := range []string{"uniform", "hbn-sync", "hbn-async", "uniform"} {
		whole(t, s, i, "strategy", want)
	}
	number(t, s, 0, "variance", 0.32)
	number(t, s, 1, "ratio", 0.02/0.32)
	number(t, s, 2, "variance", 0.03)
	whole(t, s, 2, "runs", "3")
	number(t, s, 2, "mean", (0.7+0.7+1.0)/3)
	number(t, s, 2, "replayed_se", 0.1)
	whole(t, s, 0, "ratio", "")
	whole(t, s, 0, "verdict", "")
	whole(t, s, 1, "verdict", "not enough runs")
	number(t, s, 0, "bias", 0)
	number(t, s, 0, "bias_se", math.Hypot(0.4, math.Sqrt(2*0.25*0.75/100)/2))
}

func TestSharesAreMeansOverRuns(t *testing.T) {
	a, b := run(measurement.Uniform, 0), run(measurement.Uniform, 0)
	a.Rewards, a.Time, a.CPU, a.Handling, a.GapMedian, a.GapP99 = measurement.Coupled, 1, 0.01, 0.1, 0.001, 0.01
	b.Rewards, b.Time, b.CPU, b.Handling, b.GapMedian, b.GapP99 = measurement.Coupled, 3, 0.11, 0.1, 0.003, 0.03
	a.Cores, b.Cores = 3, 3
	virtual, fleet := a, a
	virtual.CPU = 0
	fleet.Provenance, fleet.CPU = measurement.Simulated, 0.5
	s := results{runs: []measurement.Run{a, virtual, b, fleet}}.sheet(t, Orchestrator)
	if s.Rows != 2 {
		t.Fatalf("%d rows", s.Rows)
	}
	number(t, s, 0, "core_share", 0.03)
	number(t, s, 0, "cpu_share", 0.01)
	number(t, s, 0, "router_share", 0.05)
	number(t, s, 0, "gap_median_seconds", 0.002)
	number(t, s, 0, "gap_p99_seconds", 0.02)
	whole(t, s, 0, "verdict", "agrees")
	whole(t, s, 1, "verdict", "shown")
}

// TestRunsAreTogetherBySetting mixes settings and strategies.
func TestRunsAreTogetherBySetting(t *testing.T) {
	var runs []measurement.Run
	for _, word := range strings.Fields("8uniform 16hbn-sync 8hbn-async 16uniform 8uniform 16hbn-sync 8hbn-sync") {
		r := run(strings.TrimLeft(word, "816"), 0)
		r.CPU, r.Time, r.Cores = 1, 1, 1
		if strings.HasPrefix(word, "16") {
			r.ReferenceBudget = 16
		}
		runs = append(runs, r)
	}
	s := results{runs: runs}.sheet(t, Orchestrator)
	var got []string
	for i, label := range s.Labels() {
		got = append(got, strings.TrimPrefix(label, "measured quiz__model=m ")+" "+at(t, s, i, "runs").Exact())
	}
	want := "b=8 scored uniform 2, b=8 scored hbn-sync 1, b=8 scored hbn-async 1, b=16 scored uniform 1, b=16 scored hbn-sync 2"
	if strings.Join(got, ", ") != want {
		t.Errorf("rows %q", got)
	}
}
