package policy

import "speceval/internal/tsneyman"

// TS is TS-Neyman: every rollout goes to the task for which a draw from the
// posteriors promises most (paper, Appendix C.3).
var TS = &Policy{Name: "ts_neyman", Label: "TS-Neyman", Macro: "TS", Donors: None, PaperTable: 8, Strength: true, Sequential: tsneyman.NewSampler}
