// Package figures is the figures of the report, a value each, and the
// list of all of them.
package figures

import (
	"cmp"
	"slices"

	"gonum.org/v1/plot/vg/draw"

	"speceval/internal/policy"
	"speceval/internal/store/profile"
	"speceval/internal/terminal/figure"
	"speceval/internal/terminal/table"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// Figure is a figure of the report: where it stands and what it is made of, as a table has it,
// and how. Make draws it of stored results; what is not there leaves words in place of a panel.
type Figure struct {
	*model.Table
	Make func(*stored.Source) (figure.Figure, error)
}

// All is every figure that the report knows, in the paper's order.
var All = []*Figure{Pairs, Case, Policies}

// Of is the figures that an experiment has.
func Of(s *stored.Settings) []*Figure {
	return slices.DeleteFunc(slices.Clone(All), func(f *Figure) bool { return f.Has != nil && !f.Has(s) })
}

// Widths of a column and of a page of a two-column paper, in points.
const (
	columnWidth = 240
	pageWidth   = 468
)

// budgetAxis is the label of an axis of budgets.
const budgetAxis = "Rollouts per task, b"

// styles are how the policies look, by name, in every figure.
var styles = map[string]figure.Style{
	policy.Uniform.Name:           {Ink: figure.Black, Width: 1, Dash: figure.Dashed, Marker: draw.BoxGlyph{}, Size: 1.7},
	policy.HBN.Name:               {Ink: figure.Blue, Width: 1, Marker: draw.CircleGlyph{}, Size: 2},
	policy.Oracle.Name:            {Ink: figure.Vermilion, Width: 1.2, Dash: figure.Dotted, Marker: draw.PyramidGlyph{}, Size: 2},
	policy.EN.Name:                {Ink: figure.Grey, Width: 1, Marker: draw.BoxGlyph{}, Size: 1.8},
	policy.IBN.Name:               {Ink: figure.Grey, Width: 1, Dash: figure.Dashed, Marker: figure.Hollow(draw.PyramidGlyph{}), Size: 2.2},
	policy.TS.Name:                {Ink: figure.SkyBlue, Width: 1, Marker: draw.CrossGlyph{}, Size: 2.4},
	policy.LOO.Name:               {Ink: figure.Green, Width: 1, Dash: figure.Dashed, Marker: figure.Hollow(draw.BoxGlyph{}), Size: 2},
	policy.Staged.Name:            {Ink: figure.Black, Width: 1, Marker: draw.CircleGlyph{}, Size: 1.8},
	policy.Informed[0].Name:       {Ink: figure.Green, Width: 1, Marker: draw.BoxGlyph{}, Size: 1.8},
	policy.InformedStaged[0].Name: {Ink: figure.Black, Width: 1, Marker: draw.CircleGlyph{}, Size: 1.8},
}

// styleOf is how a policy looks; one that knows 16 rollouts a task is hollow and dashed.
func styleOf(p *policy.Policy) figure.Style {
	s := styles[p.Name]
	if p.Donors.Rollouts == 16 {
		s.Dash, s.Marker = figure.Dashed, figure.Hollow(s.Marker)
	}
	return s
}

// newFigure is a figure without panels, whose data have columns of these names.
func newFigure(width, height float64, title string, columns ...string) figure.Figure {
	return figure.Figure{Width: width, Height: height, Title: title, Data: table.Table{Title: title, Columns: table.Named(columns...)}}
}

// addRow adds a row to a figure's data; nil and an empty text are missing.
func addRow(f *figure.Figure, values ...any) {
	var row []table.Cell
	for _, v := range values {
		row = append(row, model.CellOf(v))
	}
	f.Data.Rows = append(f.Data.Rows, row)
}

// byPasses is the tasks of a profile in rising order of their passes.
func byPasses(p profile.Profile) []int {
	order := make([]int, p.N())
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p.PassCounts[a], p.PassCounts[b]) })
	return order
}
