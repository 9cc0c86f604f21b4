package policy

import "speceval/internal/trial"

// Staged is HBN in more than two stages: sizes and weights of a stage are fixed
// before it is seen, by all stages before it. It is not in the paper.
var Staged = &Policy{
	Name: "hbn_staged", Label: "Staged HBN", Macro: "Staged", Donors: None,
	InStages: &InStages{After: mostAfter},
	Design: Design{
		Unit: "staged", OnPanels: stagedCoefficients, Candidates: trial.Candidates,
		Seconds: func(tasks int) float64 { return 0.1 + 0.004*float64(tasks) },
	},
}
