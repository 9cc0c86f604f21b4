// Package score is the stage that scores rollouts and counts them into
// profiles. In this version profiles stand in for it: it has no units of its
// own, and the configuration refuses a corpus that would need them.
package score

import "speceval/pipeline/dag"

// Stage is the score stage. standIn says what makes it unnecessary, as
// config.Corpus.StandIn puts it.
func Stage(standIn string) dag.Stage {
	return dag.Stage{
		Name:      "score",
		About:     "scores of the rollouts, and profiles",
		Version:   1,
		Satisfied: standIn,
	}
}
