package variance

import "speceval/internal/policy"

// Spread is how HBN's gains spread over profiles at one budget.
type Spread struct {
	Budget  int32
	HBN     []Ratio
	Gaining int // ratio + 1.96 standard errors below 1
	Worst   Ratio
}

// Spreads computes the spread of HBN's ratios at every budget.
func Spreads(ratios []Ratio) (all []Spread) {
	for _, b := range Budgets(ratios) {
		s := Spread{Budget: b, HBN: Pick(ratios, policy.HBN, b)}
		if len(s.HBN) == 0 {
			continue
		}
		s.Worst = s.HBN[0]
		for _, r := range s.HBN {
			if Gains(r) {
				s.Gaining++
			}
			if r.VarianceRatio > s.Worst.VarianceRatio {
				s.Worst = r
			}
		}
		all = append(all, s)
	}
	return all
}

// Gains reports the paper's criterion of a gain: below Uniform by 1.96 standard errors.
func Gains(r Ratio) bool { return r.VarianceRatio+GainZ*r.RatioSE < 1 }
