package policy

import "math"

// IBN is Tuned IBN: a continuation by posterior variances under independent
// Beta(α, α) priors (paper, Eq. 15), designed on panels of that prior (Eq. 20),
// with α chosen in hindsight (Eq. 22).
var IBN = &Policy{
	Name: "tuned_ibn", Label: "Tuned IBN", Macro: "IBN", Donors: None, PaperTable: 1, Strength: true,
	TwoStage: &TwoStage{
		Folded: func(s Setting) []float64 {
			scores, _ := ibnScores(s.Alpha, s.M)
			return scores
		},
	},
	Design: Design{
		Unit: "ibn", Keys: []string{KeyAlphas, KeyPanels}, OnPanels: ibnCoefficients,
		Seconds: func(tasks int) float64 { return 3.0 + 0.021*float64(tasks) },
	},
}

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

// ibnMeanVariance is E[p(1−p)] under a Beta(α, α) prior.
func ibnMeanVariance(alpha float64) float64 { return alpha / (2 * (2*alpha + 1)) }
