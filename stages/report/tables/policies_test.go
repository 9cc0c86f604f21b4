package tables

import (
	"slices"
	"testing"

	"speceval/internal/policy"
	"speceval/internal/results/variance"
)

// TestProfilesWithoutSiblingsAreCounted has a benchmark of two models and one of a single one.
func TestProfilesWithoutSiblingsAreCounted(t *testing.T) {
	var ratios []variance.Ratio
	for _, of := range [][2]string{{"aime24", "a"}, {"aime24", "b"}, {"hmmt", "a"}} {
		var r variance.Ratio
		r.Benchmark, r.Model = of[0], of[1]
		ratios = append(ratios, r)
	}
	knows := policy.All[slices.IndexFunc(policy.All, func(p *policy.Policy) bool { return p.Donors.Siblings })]
	for want, all := range map[int][]variance.Standing{
		0: {{Policy: policy.HBN, Ratios: ratios}},
		1: {{Policy: policy.HBN, Ratios: ratios}, {Policy: knows, Ratios: ratios}},
	} {
		if n, of := alone(all); n != want || n > 0 && of != 3 {
			t.Errorf("%d of %d profiles have no siblings, want %d", n, of, want)
		}
	}
}
