// Package measured is the tables of what was measured here and of its prediction:
// times, variances, and the orchestrator's share of a processor; and of what an experiment
// is given.
package measured

import (
	"speceval/internal/policy"
	"speceval/internal/terminal/table"
	"speceval/stages/report/model"
)

// All is the tables of what was measured, in the order of the report.
var All = []*model.Table{Times, Variance, Orchestrator}

// chapter is the section of the document that holds predictions against measurements.
const chapter = "Prediction against measurement"

// Words that the tables share.
const (
	answeredWords = `
provenance  Whether real servers answered (measured) or simulated ones.
`
	strategyWords = `
strategy  How the rollouts were submitted: uniform, or HBN with a barrier after the pilot (hbn-sync) or with speculation in its place (hbn-async).
`
)

// profileKeys are the benchmark and the checkpoint that a row is of.
type profileKeys struct {
	Benchmark string           `csv:"benchmark" head:"Benchmark" align:"left"`
	Model     model.Checkpoint `csv:"model" head:"Checkpoint" align:"left"`
}

// strategy is how the runs of a row were executed, by its name.
type strategy string

func (s strategy) Shown() table.Cell {
	if known := policy.FindStrategy(string(s)); known != nil {
		return table.Text(known.Label)
	}
	return table.Text(string(s))
}
