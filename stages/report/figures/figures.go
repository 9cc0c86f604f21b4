// Package figures is the figures of the report, a file and a value each, and the
// list of all of them.
package figures

import (
	"cmp"
	"slices"

	"speceval/internal/figure"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/stages/report/stored"
)

// Figure is a figure of the report: what it is called, what it is made of, and how.
type Figure struct {
	Base  string // file name in figures/, without extension
	Reads stored.Reads

	// Has reports whether an experiment has the figure; nil: every one.
	Has func(*stored.Settings) bool

	// Chapter is the section of the document that shows the figure, and Remarks are
	// sentences before it, as latex.prose reads them.
	Chapter string
	Remarks []string
	Judged  string // what the verdicts beneath it call it; Base where empty

	// Make draws the figure of stored results; what is not there leaves words in
	// place of a panel.
	Make func(*stored.Source) (figure.Figure, error)
}

// All is every figure that the report knows, in the paper's order.
var All = []*Figure{Pairs, Case, Policies, Spread}

// Of is the figures that an experiment has.
func Of(s *stored.Settings) (figures []*Figure) {
	for _, f := range All {
		if f.Has == nil || f.Has(s) {
			figures = append(figures, f)
		}
	}
	return figures
}

// Widths of a column and of a page of a two-column paper, in points.
const (
	columnWidth = 240
	pageWidth   = 468
)

// styles are how the policies look, in every figure.
var styles = map[*policy.Policy]figure.Style{
	policy.Uniform: {Ink: figure.Black, Dash: figure.Dashed, Marker: figure.Square, Size: 1.7},
	policy.HBN:     {Ink: figure.Blue, Marker: figure.Circle, Size: 2},
	policy.Oracle:  {Ink: figure.Vermilion, Dash: figure.Dotted, Marker: figure.Triangle, Size: 2, Width: 1.2},
}

// budgetAxis is the label of an axis of budgets.
var budgetAxis = "Rollouts per task, " + figure.Italic("b")

// byPasses is the tasks of a profile in rising order of their passes.
func byPasses(p profile.Profile) []int {
	order := make([]int, p.N())
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p.PassCounts[a], p.PassCounts[b]) })
	return order
}
