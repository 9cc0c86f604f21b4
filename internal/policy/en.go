package policy

// EN is Tuned EN: a continuation by the empirical variances of the pilot (paper,
// Eq. 16), designed in hindsight on the profiles themselves (Eq. 17).
var EN = &Policy{Name: "tuned_en", Label: "Tuned EN", Macro: "EN", PaperTable: 1}
