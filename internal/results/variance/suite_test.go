package variance_test

import (
	"fmt"
	"math"
	"testing"

	"speceval/internal/policy"
	"speceval/internal/results/variance"
)

// neyman are the rows of suites whose rollouts are in proportion to the roots of benchmarks'
// variances per rollout of their mean, which is the best division.
func neyman(roots map[string][]float64, budget int32, tasks []int32) (rows []variance.Suite, ratios []variance.Ratio) {
	for _, model := range []string{"m1", "m2"} {
		total, whole := 0.0, 0.0
		for k, root := range roots[model] {
			total += root
			whole += float64(tasks[k])
		}
		for k, root := range roots[model] {
			uniform := root * root / (float64(tasks[k]) * float64(budget)) // N·b rollouts in all
			spent := whole * float64(budget) * root / total
			row := variance.Suite{Benchmark: fmt.Sprint("b", k), Model: model, NTasks: tasks[k], Budget: budget, Donors: policy.None.Name, UniformVariance: uniform}
			row.Policy, row.VarianceRatio, row.Rollouts = variance.UniformTasks, 1, float64(budget)
			rows = append(rows, row)
			row.Policy, row.VarianceRatio, row.Rollouts, row.SuiteRatioSE = variance.OneBudget, root*root/spent/uniform, spent/float64(tasks[k]), 0.03
			rows = append(rows, row)
			m, w := int32(1), 0.2
			ratios = append(ratios, variance.Ratio{
				Subject: variance.Subject{Benchmark: row.Benchmark, Model: model, NTasks: tasks[k], Budget: budget, Policy: policy.Staged.Name, Donors: policy.None.Name}, M: &m, W: &w,
				VarianceRatio: 0.5, RatioSE: 0.01,
			})
		}
	}
	return rows, ratios
}

// TestOtherBenchmarksHaveASuiteOfTheirOwn holds the interval of the best division to suites
// that are divided anew for every draw: (Σ k·root)²/T over Σ k·U.
func TestOtherBenchmarksHaveASuiteOfTheirOwn(t *testing.T) {
	roots := map[string][]float64{"m1": {3, 0.4, 1, 2.2, 1.5}, "m2": {1, 0.9, 0.2, 3.1, 0.7}}
	tasks := []int32{30, 100, 19, 50, 40}
	rows, ratios := neyman(roots, 8, tasks)
	var selected []variance.Design
	for _, n := range tasks {
		selected = append(selected, variance.Design{Policy: policy.Staged.Name, Donors: policy.None.Name, NTasks: n, Budget: 8, M: 1, W: 0.2, Selected: true})
	}
	all, err := variance.SuiteStandings(variance.NewSchedules(selected), ratios, rows)
	if err != nil || len(all) != 3 {
		t.Fatal(len(all), err)
	}
	want := func(times [5]float64) float64 {
		mean := 0.0
		for _, model := range []string{"m1", "m2"} {
			var sum, uniform, rollouts float64
			for k, root := range roots[model] {
				sum += times[k] * root
				uniform += times[k] * root * root / float64(tasks[k]*8)
				rollouts += times[k] * float64(tasks[k]*8)
			}
			mean += sum * sum / rollouts / uniform / 2
		}
		return mean
	}
	uniform, separate, suite := all[0], all[1], all[2]
	if uniform.Value != 1 || uniform.Between.Low != 1 || uniform.Between.High != 1 || uniform.SE != 0 {
		t.Errorf("Uniform over itself: %+v", uniform)
	}
	if math.Abs(separate.Value-0.5) > 1e-12 || math.Abs(separate.Between.High-0.5) > 1e-12 || !(separate.SE > 0.001 && separate.SE < 0.01) || separate.WorstError != 1 {
		t.Errorf("separate runs with half the variance each: %+v", separate)
	}
	if suite.Models != 2 || math.Abs(suite.Value-want([5]float64{1, 1, 1, 1, 1})) > 1e-12 || math.Abs(suite.SE-0.03/math.Sqrt2) > 1e-12 {
		t.Errorf("one budget: %+v, want %v", suite, want([5]float64{1, 1, 1, 1, 1}))
	}
	// All draws of five benchmarks, each as likely, and the quantiles of their ratios.
	var values []float64
	for draw := range 3125 {
		var times [5]float64
		for range 5 {
			times[draw%5]++
			draw /= 5
		}
		values = append(values, want(times))
	}
	below := func(x float64) (n float64) {
		for _, v := range values {
			if v < x-1e-9 {
				n++
			}
		}
		return n / 3125
	}
	if low, high := below(suite.Between.Low), below(suite.Between.High); low > 0.025+0.01 || below(suite.Between.Low+0.01) < 0.025-0.01 || high > 0.975+0.01 || below(suite.Between.High+0.01) < 0.975-0.01 {
		t.Errorf("%.3f and %.3f of all suites are below the interval %+v", low, high, *suite.Between)
	}
	worst := 0.0
	for _, r := range rows {
		if r.Policy == variance.OneBudget {
			worst = max(worst, math.Sqrt(r.VarianceRatio/0.5))
		}
	}
	if math.Abs(suite.WorstError-worst) > 1e-12 {
		t.Errorf("worst error %v, want %v", suite.WorstError, worst)
	}
}
