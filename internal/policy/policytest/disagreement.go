package policytest

import "speceval/internal/policy"

// Disagreement is the policy that docs/policies.md adds: twice as many
// continuations where the pilot disagrees, whatever the rest of it says.
var Disagreement = &policy.Policy{
	Name: "disagreement", Label: "Disagreement", Macro: "Disagreement", Donors: policy.None,
	TwoStage: &policy.TwoStage{
		Folded: func(s policy.Setting) []float64 { return disagreementScores(s.M) },
	},
	Design: policy.Design{As: policy.HBN},
}

// disagreementScores are 4 for tasks whose pilot rollouts disagree and 1 for the
// others: continuations go with the roots, two to one.
func disagreementScores(m int) []float64 {
	scores := []float64{1}
	for range m / 2 {
		scores = append(scores, 4)
	}
	return scores
}
