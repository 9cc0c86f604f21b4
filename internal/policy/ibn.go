package policy

// IBN is Tuned IBN: a continuation by posterior variances under independent
// Beta(α, α) priors (paper, Eq. 15), with α chosen in hindsight (Eq. 22).
var IBN = &Policy{Name: "tuned_ibn", Label: "Tuned IBN", Macro: "IBN", PaperTable: 1, Strength: true}
