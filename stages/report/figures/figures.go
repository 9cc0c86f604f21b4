// Package figures stands in for the package of that name, which is written elsewhere.
package figures

import (
	"speceval/internal/figure"
	"speceval/stages/report/stored"
)

// Figure is a figure of the report.
type Figure struct {
	Base    string
	Reads   stored.Reads
	Has     func(*stored.Settings) bool
	Make    func(*stored.Source) (figure.Figure, error)
	Chapter string
	Remarks []string
}

// Of is the figures that an experiment has.
func Of(*stored.Settings) []*Figure { return nil }
