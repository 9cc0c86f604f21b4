package figures

import (
	"math"
	"slices"
	"testing"

	"speceval/internal/policy"
)

func TestBoxesShowQuartilesMedianAndMean(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   quartiles
	}{
		{[]float64{3}, quartiles{3, 3, 3, 3}},
		{[]float64{2, 1}, quartiles{1.25, 1.5, 1.75, 1.5}},
		{[]float64{5, 1, 2, 4, 3}, quartiles{2, 3, 4, 3}},
		{[]float64{4, 8, 1, 7}, quartiles{3.25, 5.5, 7.25, 5}}, // as NumPy's percentile
	} {
		if got := newQuartiles(c.values); got != c.want {
			t.Errorf("%v: %v, want %v", c.values, got, c.want)
		}
	}
}

// TestPoliciesHaveStyles checks that every policy has a look, and that those of the
// case study differ by more than colour.
func TestPoliciesHaveStyles(t *testing.T) {
	for _, p := range policy.All {
		if styleOf(p).Marker == nil {
			t.Errorf("%s has no style", p.Title())
		}
	}
	seen := map[any]string{}
	for _, p := range policy.CaseStudy {
		for _, mark := range []any{styleOf(p).Ink, styleOf(p).Dash, styleOf(p).Marker} {
			if other, taken := seen[mark]; taken {
				t.Errorf("%s and %s share %T %v", p.Name, other, mark, mark)
			}
			seen[mark] = p.Name
		}
	}
}

func TestNoPointOfASwarmCoversAnother(t *testing.T) {
	ys := make([]float64, 107)
	for i := range ys {
		ys[i] = 60 + float64(i*i%7) + float64(i)/4
	}
	slices.Sort(ys)
	const high, wide = 2.6, 0.05
	aside := swarm(ys, high, wide)
	for i := range ys {
		for j := range i {
			if d := math.Hypot((aside[i]-aside[j])/wide, (ys[i]-ys[j])/high); d < 1-1e-9 || math.Abs(aside[i]) > 0.5 {
				t.Errorf("points %d and %d are %v discs apart, at %v", i, j, d, aside[i])
			}
		}
	}
}
