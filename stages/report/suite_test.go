package report_test

import (
	"fmt"
	"math"
	"testing"

	"speceval/internal/policy"
	"speceval/internal/results/variance"
	"speceval/stages/report/tables"
)

// suites makes up the suites of a study: every way has a ratio of its own on all
// benchmarks.
func (s study) suites() (all []variance.Suite) {
	for _, known := range []*policy.Donors{policy.None, policy.Siblings} {
		for _, p := range s.pairs {
			for k, way := range variance.SuiteWays {
				for _, b := range s.Budgets {
					ratio := 1 - 0.1*float64(k)
					row := variance.Suite{
						Benchmark: p.Benchmark, Model: p.Model, NTasks: int32(p.N()), Budget: b, Policy: way, Donors: known.Name,
						Rollouts: float64(b), UniformVariance: 0.1 / float64(b), VarianceRatio: ratio, SuiteRatio: ratio,
					}
					if k > 2 {
						row.RatioSE, row.SuiteRatioSE, row.Draws = 0.02, 0.01, 32
					}
					if way != variance.Separate && (known == policy.None || k > 2) {
						all = append(all, row)
					}
				}
			}
		}
	}
	return all
}

// TestSuites reads Table 11 of the study of the paper's profiles: rows in order, their numbers,
// and the error of a benchmark's own mean against the separate run's.
func TestSuites(t *testing.T) {
	s := paperStudy(t)
	src := s.source(t)
	sheet := must(tables.Suite.Sheet(src))
	labels := sheet.Labels()
	at := func(row int, column string) float64 {
		v, ok := sheet.Column(column).Cell(row).Float()
		if !ok {
			t.Fatalf("row %d has no %s", row, column)
		}
		return v
	}
	want := map[string]float64{"b=8 uniform_tasks": 1, "b=8 uniform_benchmarks": 0.9, "b=8 suite": 0.7, "b=64 suite_floor siblings": 0.6}
	for row, label := range labels {
		if ratio, asked := want[label]; asked {
			if got := at(row, "variance_ratio"); math.Abs(got-ratio) > 1e-12 {
				t.Errorf("%s: ratio %v, want %v", label, got, ratio)
			}
			if low, high := at(row, "reduction_low"), at(row, "reduction_high"); math.Abs(low-(1-ratio)) > 1e-12 || math.Abs(high-low) > 1e-12 {
				t.Errorf("%s: reductions %v to %v where all benchmarks have %v", label, low, high, 1-ratio)
			}
			delete(want, label)
		}
	}
	if len(want) > 0 {
		t.Errorf("no rows of %v in %v", fmt.Sprint(want), labels)
	}
}
