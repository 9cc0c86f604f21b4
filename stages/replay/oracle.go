package replay

import (
	"fmt"

	"speceval/internal/profile"
	"speceval/internal/variance"
	"speceval/method/neyman"
)

// oracle is the exact integer Neyman allocation for the true variances (paper,
// Eq. 2), a row for each budget that the designs have.
func oracle(p profile.Profile, designs []variance.Design) ([]variance.Ratio, error) {
	variances := make([]float64, p.N())
	for i := range variances {
		variances[i] = p.P(i) * (1 - p.P(i))
	}
	var ratios []variance.Ratio
	seen := map[int32]bool{}
	for _, d := range designs {
		if seen[d.Budget] {
			continue
		}
		seen[d.Budget] = true
		allocation, err := neyman.Allocate(variances, p.N()*int(d.Budget))
		if err != nil {
			return nil, fmt.Errorf("oracle on %s at budget %d: %w", p.Name(), d.Budget, err)
		}
		ratios = append(ratios, variance.Ratio{
			Benchmark: p.Benchmark, Model: p.Model, NTasks: int32(p.N()), Budget: d.Budget,
			Policy:        variance.Oracle,
			VarianceRatio: neyman.VarianceRatio(variances, allocation, int(d.Budget)),
		})
	}
	return ratios, nil
}
