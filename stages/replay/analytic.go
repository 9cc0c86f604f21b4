package replay

import (
	"fmt"

	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/variance"
	"speceval/method/neyman"
)

// analytic is the ratios of the policies whose allocation is known beforehand,
// as the Oracle's, at each budget that the designs have.
func analytic(policies policy.List, p profile.Profile, designs []variance.Design) ([]variance.Ratio, error) {
	vs := variances(probabilities(p))
	var ratios []variance.Ratio
	seen := map[int32]bool{}
	for _, d := range designs {
		if seen[d.Budget] {
			continue
		}
		seen[d.Budget] = true
		for _, of := range policies {
			if of.Fixed == nil {
				continue
			}
			allocation, err := of.Fixed(vs, p.N()*int(d.Budget))
			if err != nil {
				return nil, fmt.Errorf("%s on %s at budget %d: %w", of.Name, p.Name(), d.Budget, err)
			}
			ratios = append(ratios, variance.Ratio{
				Benchmark: p.Benchmark, Model: p.Model, NTasks: int32(p.N()), Budget: d.Budget,
				Policy: of.Name, Donors: of.Donors.Name,
				VarianceRatio: neyman.VarianceRatio(vs, allocation, int(d.Budget)),
			})
		}
	}
	return ratios, nil
}
