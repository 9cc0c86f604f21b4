package html

import (
	"slices"
	"strings"

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
	obtained, errors, paper []table.Cell // by row; nil where there are none
	behind                  string       // what stands behind ±: "s.e."
	judged                  []*agreement.Comparison
	decimals                int // of all its numbers
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
			owner.paper = cells
		case c.Role == model.Error && owner != nil && owner.behind == "":
			owner.errors, owner.behind = cells, "s.e."
		case c.Role == model.Spread && owner != nil && owner.behind == "":
			owner.errors, owner.behind = cells, "s.d."
		default:
			index[c.Name] = &column{Column: c, obtained: cells}
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

// cellRef names a cell of a table.
type cellRef struct{ row, column string }

// fill puts the rows of a sheet into a table of the page, with the comparisons of
// its cells, and after them those that belong to none.
func fill(t *page.Table, s *model.Sheet, compared []agreement.Comparison) {
	verdicts := map[cellRef]*agreement.Comparison{}
	for i, c := range compared {
		verdicts[cellRef{c.Row, c.Column}] = &compared[i]
	}
	keys, labels := keysOf(s), s.Labels()
	for _, c := range keys {
		t.Columns = append(t.Columns, page.Column{Name: c.Name, Head: heading(c.Name), Key: true})
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
		shown := page.Column{Name: c.Name, Head: heading(c.Name), Spread: c.behind, Formula: c.Formula().Plain, Text: slices.ContainsFunc(c.obtained, table.Cell.IsText)}
		for _, label := range labels {
			judged := verdicts[cellRef{label, c.Name}]
			if judged != nil && judged.Live {
				_, shown.Beside = judged.Sides()
			}
			c.judged = append(c.judged, judged)
			delete(verdicts, cellRef{label, c.Name})
		}
		c.setDecimals()
		t.Columns = append(t.Columns, shown)
		for i := range t.Rows {
			t.Rows[i].Cells = append(t.Rows[i].Cells, c.cell(i))
		}
	}
	for _, c := range compared {
		if verdicts[cellRef{c.Row, c.Column}] != nil {
			t.Extra = append(t.Extra, verdictLine(c))
		}
	}
}

// symbols are columns that have a symbol or another name.
var symbols = map[string]string{"benchmark, model": "Profile", "n_tasks": "N", "budget": "b", "m": "m", "w": "w", "m0": "m₀", "alpha": "α"}

// spellings are words of column names that are no plain words.
var spellings = map[string]string{
	"en": "EN", "ibn": "IBN", "hbn": "HBN", "ts": "TS-Neyman", "flops": "FLOPs", "alpha": "α", "m0": "m₀",
	"se": "s.e.", "sd": "s.d.", "b8": "b = 8", "theta": "θ", "mse": "MSE",
}

// heading is the name of a column in words: "Tuned EN" of tuned_en.
func heading(column string) string {
	if symbol, ok := symbols[column]; ok {
		return symbol
	}
	words := strings.Split(column, "_")
	for i, word := range words {
		if spelt, ok := spellings[word]; ok {
			words[i] = spelt
		} else if i == 0 && word != "" {
			words[i] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return strings.Join(words, " ")
}
