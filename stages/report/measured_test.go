package report_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"speceval/internal/policy"
	"speceval/internal/results/measurement"
	"speceval/internal/results/variance"
	"speceval/internal/store/profile"
	"speceval/pipeline/pair"
	"speceval/stages/report/model"
	"speceval/stages/report/tables/measured"
)

// holdsCells compares cells of a row: a number, or the text of the file.
func holdsCells(t *testing.T, s *model.Sheet, row int, want map[string]any) {
	t.Helper()
	for column, want := range want {
		switch want := want.(type) {
		case float64:
			near(t, column, number(t, s, row, column), want)
		case string:
			if got := s.Column(column).Cell(row).Exact(); got != want {
				t.Errorf("row %d: %s is %q, want %q", row, column, got, want)
			}
		}
	}
}

// run is one that estimates a mean; of another provenance, profile, budget or kind of
// rewards it must not be counted with the others.
func run(strategy string, estimate float64) measurement.Run {
	return measurement.Run{Benchmark: "quiz", Model: "m", ReferenceBudget: 8, Strategy: strategy, Provenance: measurement.Measured, Rewards: measurement.Scored, Estimate: estimate}
}

func TestVariancesAreAboutEachStrategysOwnMean(t *testing.T) {
	coupled, other := run(measurement.Uniform, 9), run(measurement.Uniform, 9)
	coupled.Rewards, other.ReferenceBudget = measurement.Coupled, 16
	s := study{
		pairs:  []pair.Pair{pair.Known(profile.Profile{Benchmark: "quiz", Model: "m", TaskIDs: []string{"a", "b"}, PassCounts: []int{25, 75}, TestedK: 100})},
		ratios: []variance.Ratio{{Subject: variance.Subject{Benchmark: "quiz", Model: "m", NTasks: 2, Budget: 8, Policy: policy.HBN.Name, Donors: "none"}, VarianceRatio: 0.5, RatioSE: 0.1}},
		errors: []variance.ProfileError{},
		runs: []measurement.Run{
			run(measurement.Uniform, 0.1), run(measurement.Uniform, 0.9), coupled,
			run(measurement.HBNSync, 0.4), run(measurement.HBNSync, 0.6),
			run(measurement.HBNAsync, 0.7), run(measurement.HBNAsync, 0.7), run(measurement.HBNAsync, 1.0), other,
		}}.sheet(t, measured.Variance)
	if s.Rows != 4 {
		t.Fatalf("%d rows, want 3 of b = 8 and one of b = 16", s.Rows)
	}
	holdsCells(t, s, 0, map[string]any{"strategy": "uniform", "variance": 0.32, "ratio": "", "verdict": "", "bias": 0.0, "bias_se": math.Hypot(0.4, math.Sqrt(2*0.25*0.75/100)/2)})
	holdsCells(t, s, 1, map[string]any{"strategy": "hbn-sync", "ratio": 0.02 / 0.32, "verdict": "not enough runs"})
	holdsCells(t, s, 2, map[string]any{"strategy": "hbn-async", "variance": 0.03, "runs": "3", "mean": (0.7 + 0.7 + 1.0) / 3, "replayed_se": 0.1})
	holdsCells(t, s, 3, map[string]any{"strategy": "uniform"})
}

func TestSharesAreMeansOverRuns(t *testing.T) {
	a, b := run(measurement.Uniform, 0), run(measurement.Uniform, 0)
	a.Rewards, a.Time, a.CPU, a.Handling, a.GapMedian, a.GapP99 = measurement.Coupled, 1, 0.01, 0.1, 0.001, 0.01
	b.Rewards, b.Time, b.CPU, b.Handling, b.GapMedian, b.GapP99 = measurement.Coupled, 3, 0.11, 0.1, 0.003, 0.03
	a.Cores, b.Cores = 3, 3
	virtual, fleet := a, a
	virtual.CPU = 0
	fleet.Provenance, fleet.CPU = measurement.Simulated, 0.5
	s := study{runs: []measurement.Run{a, virtual, b, fleet}}.sheet(t, measured.Orchestrator)
	holdsCells(t, s, 0, map[string]any{"core_share": 0.03, "cpu_share": 0.01, "router_share": 0.05, "gap_median_seconds": 0.002, "gap_p99_seconds": 0.02, "verdict": "agrees"})
	holdsCells(t, s, 1, map[string]any{"verdict": "shown"})
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
	s := study{runs: runs}.sheet(t, measured.Orchestrator)
	var got []string
	for i, label := range s.Labels() {
		got = append(got, strings.TrimPrefix(label, "measured quiz__model=m ")+" "+s.Column("runs").Cell(i).Exact())
	}
	want := []string{"b=8 scored uniform 2", "b=8 scored hbn-sync 1", "b=8 scored hbn-async 1", "b=16 scored uniform 1", "b=16 scored hbn-sync 2"}
	if !slices.Equal(got, want) {
		t.Errorf("rows %q", got)
	}
}
