package variance_test

import (
	"math"
	"slices"
	"testing"

	"speceval/internal/results/variance"
	"speceval/internal/store/profile"
)

// TestHalfWidths has two tasks of even odds: Σ p(1−p) is a half.
func TestHalfWidths(t *testing.T) {
	c := variance.Case{Profile: profile.Profile{TestedK: 2, TaskIDs: []string{"a", "b"}, PassCounts: []int{1, 1}}}
	if got, want := c.HalfWidth(1, 32), 1.96/16; math.Abs(got-want) > 1e-5 { // √(0.5/(2²·32)) is a sixteenth
		t.Errorf("%v, want %v", got, want)
	}
	if got := c.HalfWidth(0.25, 32) / c.HalfWidth(1, 128); math.Abs(got-1) > 1e-12 {
		t.Errorf("a quarter of the variance is worth %v of four times the budget", got)
	}
}

// TestBenchmarksAreResampledTogether compares the means over draws of three
// benchmarks of unequal size with all 27 that are equally likely.
func TestBenchmarksAreResampledTogether(t *testing.T) {
	profiles := []string{"b", "a", "b", "c", "a", "b"}
	values := []float64{3, 10, 5, -4, 20, 1}
	groups := [][]float64{{10, 20}, {3, 5, 1}, {-4}}
	likely := map[float64]float64{}
	for i := range 27 {
		var all []float64
		for _, k := range []int{i % 3, i / 3 % 3, i / 9} {
			all = append(all, groups[k]...)
		}
		sum := 0.0
		for _, v := range all {
			sum += v
		}
		likely[sum/float64(len(all))] += 1.0 / 27
	}
	means := variance.NewBenchmarks(profiles).Means(values)
	if len(means) != variance.Resamples {
		t.Fatalf("%d means", len(means))
	}
	seen := map[float64]float64{}
	for _, m := range means {
		seen[m] += 1.0 / variance.Resamples
	}
	if len(seen) != len(likely) {
		t.Errorf("%d different means, want %d", len(seen), len(likely))
	}
	for mean, p := range likely {
		// 5 standard deviations of a share
		if got := seen[mean]; math.Abs(got-p) > 5*math.Sqrt(p*(1-p)/variance.Resamples) {
			t.Errorf("mean %v in a share %v of the draws, want %v", mean, got, p)
		}
	}
	other := []string{"c", "b", "a", "b", "b", "a"} // the same profiles in another order
	if again := variance.NewBenchmarks(other).Means([]float64{-4, 3, 10, 5, 1, 20}); !slices.Equal(again, means) {
		t.Error("the draws depend on the order of profiles")
	}
}

// TestFewBenchmarksHaveNoInterval wants none where draws reach the range of the benchmarks, or all
// profiles come and go together.
func TestFewBenchmarksHaveNoInterval(t *testing.T) {
	for _, profiles := range [][]string{nil, {"a"}, {"a", "a"}, {"a", "b", "c", "d", "a"}, {"a", "b", "c", "d", "e"}} {
		got := variance.NewBenchmarks(profiles).Interval(make([]float64, len(profiles)))
		if (got != nil) != slices.Contains(profiles, "e") {
			t.Errorf("%q: %v", profiles, got)
		}
	}
}

// TestQuantilesOfFewValues compares quantiles with those of a list of five.
func TestQuantilesOfFewValues(t *testing.T) {
	rising := []float64{1, 2, 4, 8, 16}
	for part, want := range map[float64]float64{0: 1, 0.25: 2, 0.5: 4, 0.625: 6, 1: 16} {
		if got := variance.Quantile(rising, part); got != want {
			t.Errorf("quantile %v is %v, want %v", part, got, want)
		}
	}
}

func TestEquivalentBudgetIsAFloor(t *testing.T) {
	for _, c := range []struct {
		budget int32
		ratio  float64
		want   int32
	}{
		{8, 0.5, 16}, {8, 0.8, 10}, {8, 1, 8}, {8, 1.024, 7}, {16, 0.8907362827341168, 17},
		{64, 0.7, 91}, {8, math.Nextafter(0.5, 1), 15}, {8, math.Nextafter(0.5, 0), 16},
		{63, 0.63, 100}, {49, 0.49, 100}, {1, 3, 0},
	} {
		if got, err := variance.EquivalentBudget(c.budget, c.ratio); err != nil || got != c.want {
			t.Errorf("⌊%d/%v⌋ = %d, %v; want %d", c.budget, c.ratio, got, err, c.want)
		}
	}
	for _, ratio := range []float64{0, -0.5, math.NaN(), math.Inf(1), 1e-9, 1e-300} {
		if got, err := variance.EquivalentBudget(8, ratio); err == nil {
			t.Errorf("a ratio of %v gives %d", ratio, got)
		}
	}
}
