package variance_test

import (
	"math"
	"testing"

	"speceval/internal/variance"
)

func TestEquivalentBudgetIsTheExactFloor(t *testing.T) {
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
