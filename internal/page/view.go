package page

import (
	"cmp"
	"html/template"
)

// viewTable is a table as the templates walk it.
type viewTable struct {
	Table
	Short string // how other places call it
	Heads []viewHead
	Lines []viewRow
}

// viewHead is the heading of a column.
type viewHead struct {
	Column
	Class string
}

// viewRow is a row whose repeated keys are drawn together.
type viewRow struct {
	Label string
	Keys  []viewKey
	Cells []viewCell
}

type viewKey struct {
	Text, Scope string
	Span        int
	First       bool // of the first key, which may be long
}

type viewCell struct {
	Cell
	Wide   bool
	Beside string // what Paper is
}

// Drawing is the figure's SVG, trusted as [Figure] says.
func (f Figure) Drawing() template.HTML { return template.HTML(f.SVG) }

// Least is the width in pixels below which the figure scrolls, where its smallest
// text has some eight pixels.
func (f Figure) Least() int { return int(1.15 * f.Width) }

// Most is the width in pixels beyond which the figure does not grow.
func (f Figure) Most() int { return int(1.9 * f.Width) }

// newViewTable prepares a table.
func newViewTable(t Table) viewTable {
	v := viewTable{Table: t, Short: cmp.Or(t.Name, Spaced(t.ID)), Heads: heads(t.Columns)}
	var values []Column
	for _, c := range t.Columns {
		if !c.Key {
			values = append(values, c)
		}
	}
	keys := len(t.Columns) - len(values)
	spans := keySpans(t.Rows, keys)
	for i, row := range t.Rows {
		line := viewRow{Label: row.Label}
		for j, key := range row.Keys {
			if spans[i][j] == 0 {
				continue
			}
			scope := "row"
			if spans[i][j] > 1 {
				scope = "rowgroup"
			}
			line.Keys = append(line.Keys, viewKey{key, scope, spans[i][j], t.Folded && j == 0})
		}
		for j, cell := range row.Cells {
			if t.Folded {
				cell.Exact = "" // of thousands, most of what the page weighs
			}
			line.Cells = append(line.Cells, viewCell{Cell: cell, Wide: values[j].Text, Beside: cmp.Or(values[j].Beside, "paper")})
		}
		v.Lines = append(v.Lines, line)
	}
	return v
}

// heads is the headings of columns; that of the last key stays in sight.
func heads(columns []Column) []viewHead {
	var all []viewHead
	for j, c := range columns {
		h := viewHead{Column: c}
		switch {
		case c.Key && (j+1 == len(columns) || !columns[j+1].Key):
			h.Class = "stay"
		case !c.Key && !c.Text:
			h.Class = "num"
		}
		all = append(all, h)
	}
	return all
}

// keySpans is how many rows a key stands for, from the row where it first
// stands: as long as it and the keys before it stay the same. 0: the row above
// has it already.
func keySpans(rows []Row, keys int) [][]int {
	spans := make([][]int, len(rows))
	for i := range rows {
		spans[i] = make([]int, keys)
	}
	for j := range keys - 1 { // the last key names its row alone
		first := 0
		for i := range rows {
			if i > first && sameKeys(rows[i], rows[first], j) {
				spans[first][j]++
				continue
			}
			first = i
			spans[i][j] = 1
		}
	}
	for i := range rows {
		if keys > 0 {
			spans[i][keys-1] = 1
		}
	}
	return spans
}

// sameKeys reports whether two rows have the same keys up to the j-th.
func sameKeys(a, b Row, j int) bool {
	for k := range j + 1 {
		if a.Keys[k] != b.Keys[k] {
			return false
		}
	}
	return true
}

// hover is what a cell says when pointed at: the value with nothing lost.
func (c Cell) hover() string {
	if c.Exact == c.Text {
		return ""
	}
	return c.Exact
}
