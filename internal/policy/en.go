package policy

// EN is Tuned EN: a continuation by the empirical variances of the pilot (paper,
// Eq. 16), designed in hindsight on the profiles themselves (Eq. 17).
var EN = &Policy{
	Name: "tuned_en", Label: "Tuned EN", Macro: "EN", PaperTable: 1,
	TwoStage: &TwoStage{
		Folded: func(s Setting) []float64 { return enScores(s.M) },
		Design: Design{Unit: "en", Seconds: func(int) float64 { return 0.4 }, OnProfile: enCoefficients},
	},
}

// enScores returns EN's scores S(m−S) for the folded counts S = 0, …, ⌊m/2⌋,
// without the common factor 1/[m(m+1)] (paper, Eq. 16).
func enScores(m int) []float64 {
	var scores []float64
	for j := range m/2 + 1 {
		scores = append(scores, float64(j*(m-j)))
	}
	return scores
}
