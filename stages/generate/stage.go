// Package generate is the stage that samples rollouts of every task from vLLM
// servers. In this version profiles stand in for it: it has no units of its
// own, and the configuration refuses a corpus that would need them.
package generate

import "speceval/pipeline/dag"

// Stage is the generate stage. standIn says what makes it unnecessary, as
// config.Corpus.StandIn puts it.
func Stage(standIn string) dag.Stage {
	return dag.Stage{
		Name:      "generate",
		About:     "rollouts of every task, sampled from vLLM servers",
		Version:   1,
		Satisfied: standIn,
	}
}
