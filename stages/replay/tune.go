package replay

import (
	"speceval/internal/policy"
	"speceval/internal/variance"
)

// choice is what a prior strength is chosen for.
type choice struct {
	policy policy.Key
	budget int32
}

// tune selects prior strengths in hindsight: of each policy that has one and at
// each budget that with the least variance ratio averaged over profiles, the
// smaller one if two are equal (paper, Eq. 22). It returns all rows but those of
// the other strengths, and the rows of every strength apart.
func tune(all []variance.Ratio) (ratios, strengths []variance.Ratio) {
	type strength struct {
		choice
		alpha float64
	}
	sums := map[strength]float64{}
	for _, r := range all {
		if r.Alpha != nil {
			strengths = append(strengths, r)
			sums[strength{choice{r.Key(), r.Budget}, *r.Alpha}] += r.VarianceRatio
		}
	}
	best := map[choice]float64{}
	for _, r := range strengths { // in order of the profiles, then of α
		c := choice{r.Key(), r.Budget}
		alpha, ok := best[c]
		sum, least := sums[strength{c, *r.Alpha}], sums[strength{c, alpha}]
		if !ok || sum < least || sum == least && *r.Alpha < alpha {
			best[c] = *r.Alpha
		}
	}
	for _, r := range all {
		if r.Alpha == nil || *r.Alpha == best[choice{r.Key(), r.Budget}] {
			ratios = append(ratios, r)
		}
	}
	return ratios, strengths
}

// selectedStrengths is the prior strengths that tune has kept.
func selectedStrengths(twoStage []variance.Ratio) map[choice]float64 {
	strengths := map[choice]float64{}
	for _, r := range twoStage {
		if r.Alpha != nil {
			strengths[choice{r.Key(), r.Budget}] = *r.Alpha
		}
	}
	return strengths
}
