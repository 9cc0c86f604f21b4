package report

import (
	"slices"
	"strings"

	"speceval/internal/agreement"
	"speceval/internal/page"
	"speceval/internal/paper"
	"speceval/internal/table"
	"speceval/stages/report/model"
)

// mostRows is how many rows a table may have to be shown at once.
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
	if len(keys) < 2 || keys[0].Name != "benchmark" || keys[1].Name != "model" {
		return keys
	}
	name := func(row int) table.Cell {
		return table.Text(model.ProfileName(keys[0].Cell(row).Exact(), keys[1].Cell(row).Exact()))
	}
	return append([]model.Column{{Name: "benchmark, model", Role: model.Key, Cell: name}}, keys[2:]...)
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
		shown := page.Column{Name: c.Name, Head: page.Heading(c.Name), Spread: c.behind, Formula: c.Words, Text: slices.ContainsFunc(c.Obtained, table.Cell.IsText)}
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

// summary is the outcome of all comparisons.
func summary(v Verdicts) *page.Summary {
	s := &page.Summary{Line: strings.TrimPrefix(v.Summary(), "verify: ") + ".", Passed: v.Passed(), Counts: page.Counts(v.Cells), Legend: page.Paragraphs(Legend(v.Cells)), Skipped: v.Skipped}
	switch ofPaper, live := v.Cells.Sides(); {
	case len(live) > 0 && len(ofPaper) > 0:
		s.Against = "the paper’s or the prediction"
	case len(live) > 0:
		s.Against = "the prediction"
	}
	for _, table := range v.Cells.Tables() {
		own := v.Cells.Of(table)
		s.Tables = append(s.Tables, page.Tally{Table: table, Name: placeName(table), Words: own.Tally()})
	}
	for _, c := range v.Cells {
		if c.Verdict != agreement.Differs && c.Verdict != agreement.Absent {
			continue
		}
		at := page.Pointer{Table: c.Table, Name: placeName(c.Table), Row: c.Row, Column: c.Column, Text: page.Disagreement(c)}
		if c.Class.Decides() {
			s.Differ = append(s.Differ, at)
		} else {
			s.Astray = append(s.Astray, at)
		}
	}
	return s
}

// placeName is a table as people call it: "Table 1", or "Robustness".
func placeName(base string) string {
	if _, name := paper.Number(base); name != "" {
		return name
	}
	return page.Spaced(base)
}

// others is the verdicts of what is no table of the page.
func others(all agreement.Comparisons, shown []page.Table) (groups []page.Group) {
	for _, base := range all.Tables() {
		if slices.ContainsFunc(shown, func(t page.Table) bool { return t.ID == base }) {
			continue
		}
		g := page.Group{ID: base, Name: placeName(base)}
		for _, c := range all.Of(base) {
			g.Lines = append(g.Lines, page.NewLine(c))
		}
		groups = append(groups, g)
	}
	return groups
}
