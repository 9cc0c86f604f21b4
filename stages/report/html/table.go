package html

import (
	"slices"

	"speceval/internal/agreement"
	"speceval/internal/page"
	"speceval/internal/table"
	"speceval/stages/report/model"
)

// mostRows is how many rows a table may have to be shown at once, with a line of
// explanation for every cell.
const mostRows = 64

// column is a column of the page that is no key, with those of the sheet that stand
// in the same cells: an error, and the paper's numbers.
type column struct {
	model.Column
	page.Values
	behind string // what stands behind ±: "s.e."
}

// newColumns is the columns of the page that are no keys. A further error of the
// same column, and one of a column that is not there, stand alone.
func newColumns(s *model.Sheet) (values []*column) {
	index := map[string]*column{}
	for _, c := range s.Stored() {
		cells := make([]table.Cell, s.Rows)
		for i := range cells {
			cells[i] = c.Cell(i)
		}
		owner := index[c.Of]
		switch {
		case c.Role == model.Key:
		case c.Role == model.Paper && owner != nil:
			owner.Paper = cells
		case c.Role == model.Error && owner != nil && owner.behind == "":
			owner.Errors, owner.behind = cells, "s.e."
		case c.Role == model.Spread && owner != nil && owner.behind == "":
			owner.Errors, owner.behind = cells, "s.d."
		default:
			index[c.Name] = &column{Column: c, Values: page.Values{Obtained: cells}}
			values = append(values, index[c.Name])
		}
	}
	return values
}

// keysOf is the key columns of the page: a benchmark and a model share one.
func keysOf(s *model.Sheet) []model.Column {
	keys := model.Keys(s.Columns)
	if len(keys) < 2 || keys[0].Kind != model.ByBenchmark || keys[1].Kind != model.ByModel {
		return keys
	}
	name := func(row int) string { return model.ProfileName(keys[0].Cell(row).Exact(), keys[1].Cell(row).Exact()) }
	return append([]model.Column{model.NameKey(model.ByBenchmark, "benchmark, model", "", name)}, keys[2:]...)
}

// fill puts the rows of a sheet into a table of the page, with the comparisons of
// its cells, and after them those that belong to none.
func fill(t *page.Table, s *model.Sheet, compared []agreement.Comparison) {
	verdicts := map[[2]string]*agreement.Comparison{} // by row and column
	for i, c := range compared {
		verdicts[[2]string{c.Row, c.Column}] = &compared[i]
	}
	keys, labels := keysOf(s), s.Labels()
	for _, c := range keys {
		t.Columns = append(t.Columns, page.Column{Name: c.Name, Head: page.Heading(c.Name), Key: true})
	}
	t.Folded = s.Rows > mostRows
	for i, label := range labels {
		row := page.Row{Label: label}
		for _, c := range keys {
			row.Keys = append(row.Keys, c.Cell(i).Exact())
		}
		t.Rows = append(t.Rows, row)
	}
	for _, c := range newColumns(s) {
		shown := page.Column{Name: c.Name, Head: page.Heading(c.Name), Spread: c.behind, Formula: c.Formula().Plain, Text: slices.ContainsFunc(c.Obtained, table.Cell.IsText)}
		for _, label := range labels {
			judged := verdicts[[2]string{label, c.Name}]
			if judged != nil && judged.Live {
				_, shown.Beside = judged.Sides()
			}
			c.Judged = append(c.Judged, judged)
			delete(verdicts, [2]string{label, c.Name})
		}
		t.Columns = append(t.Columns, shown)
		for i, cell := range c.Cells() {
			t.Rows[i].Cells = append(t.Rows[i].Cells, cell)
		}
	}
	for _, c := range compared {
		if verdicts[[2]string{c.Row, c.Column}] != nil {
			t.Extra = append(t.Extra, page.NewLine(c))
		}
	}
}
