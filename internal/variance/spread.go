package variance

import "speceval/internal/policy"

// Spread is how a policy's gains spread over profiles at one budget.
type Spread struct {
	Budget  int32
	Ratios  []Ratio
	Gaining int // ratio + 1.96 standard errors below 1
	Worst   Ratio
}

// NewSpread is the spread of the ratios of a policy at a budget, of which there is
// one at least.
func NewSpread(budget int32, ratios []Ratio) Spread {
	s := Spread{Budget: budget, Ratios: ratios, Worst: ratios[0]}
	for _, r := range ratios {
		if Gains(r) {
			s.Gaining++
		}
		if r.VarianceRatio > s.Worst.VarianceRatio {
			s.Worst = r
		}
	}
	return s
}

// Spreads computes the spread of HBN's ratios at every budget.
func Spreads(ratios []Ratio) (all []Spread) {
	for _, b := range Budgets(ratios) {
		if hbn := Pick(ratios, policy.HBN, b); len(hbn) > 0 {
			all = append(all, NewSpread(b, hbn))
		}
	}
	return all
}

// Gains reports the paper's criterion of a gain: below Uniform by 1.96 standard errors.
func Gains(r Ratio) bool { return r.VarianceRatio+GainZ*r.RatioSE < 1 }

// Standing is what a policy is worth at a budget.
type Standing struct {
	Mean
	Spread  Spread
	Between *Interval // of the mean, by other benchmarks; nil with a single one
}

// Standings are those of every policy that was replayed, by budget.
func Standings(designs Schedules, ratios []Ratio) (all []Standing, err error) {
	var draws Benchmarks
	for _, b := range Budgets(ratios) {
		for _, p := range policy.All {
			m, err := NewMean(designs, ratios, p, b)
			if err != nil {
				return nil, err
			}
			if len(m.Ratios) == 0 {
				continue
			}
			var values []float64
			for _, r := range m.Ratios {
				values = append(values, r.VarianceRatio)
			}
			draws = draws.For(m.Ratios)
			all = append(all, Standing{m, NewSpread(b, m.Ratios), draws.Interval(values)})
		}
	}
	return all, nil
}
