package replay

import (
	"math"

	"speceval/internal/variance"
)

// ibnScores returns IBN's scores (S+α)(m−S+α) for the folded counts
// S = 0, …, ⌊m/2⌋ and the unit that turns them into the posterior expectation
// of p(1−p) (paper, Eq. 15). For α with up to three decimals the scores are
// scaled to integers, so that gains that are equal are equal to the last bit.
func ibnScores(alpha float64, m int) (scores []float64, unit float64) {
	scale := 1.0
	for ; scale < 1e4 && alpha*scale != math.Round(alpha*scale); scale *= 10 {
	}
	a, n := alpha*scale, float64(m)*scale
	if scale == 1e4 {
		scale, a, n = 1, alpha, float64(m)
	}
	for j := range m/2 + 1 {
		s := float64(j) * scale
		scores = append(scores, (s+a)*(n-s+a))
	}
	return scores, (n + 2*a) * (n + 2*a + scale)
}

// ladderReach is how far a ladder is built: to where t lies when two tasks are
// in the middle class and all others in the first. Allocations beyond that are
// of so few classes that they are as cheap without a ladder.
func ladderReach(scores []float64, tasks, total int) float64 {
	first, last := math.Sqrt(scores[0]), math.Sqrt(scores[len(scores)-1])
	return float64(total) / (float64(tasks)*first + 2*last)
}

// ibnMeanVariance is E[p(1−p)] under a Beta(α, α) prior.
func ibnMeanVariance(alpha float64) float64 { return alpha / (2 * (2*alpha + 1)) }

// tuneIBN selects IBN's prior strength in hindsight: at each budget the one with
// the least variance ratio averaged over profiles, the smaller one if two are
// equal (paper, Eq. 22). It returns all rows but those of the other strengths,
// and the rows of every strength apart.
func tuneIBN(all []variance.Ratio) (ratios, strengths []variance.Ratio) {
	type choice struct {
		budget int32
		alpha  float64
	}
	sums := map[choice]float64{}
	for _, r := range all {
		if r.Policy == variance.TunedIBN {
			strengths = append(strengths, r)
			sums[choice{r.Budget, *r.Alpha}] += r.VarianceRatio
		}
	}
	best := map[int32]float64{}
	for _, r := range strengths { // in order of the profiles, then of α
		c := choice{r.Budget, *r.Alpha}
		alpha, ok := best[r.Budget]
		if least := sums[choice{r.Budget, alpha}]; !ok || sums[c] < least || sums[c] == least && c.alpha < alpha {
			best[r.Budget] = c.alpha
		}
	}
	for _, r := range all {
		if r.Policy != variance.TunedIBN || *r.Alpha == best[r.Budget] {
			ratios = append(ratios, r)
		}
	}
	return ratios, strengths
}
