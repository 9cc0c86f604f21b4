package page

import (
	"cmp"
	"fmt"
	"html/template"
	"regexp"
	"strings"
)

// viewTable is a table as the templates walk it.
type viewTable struct {
	Table
	Short     string // how other places call it
	FirstRow  string // a row label as the shell takes it
	Heads     []viewHead
	Lines     []viewRow
	Explained []viewColumn
}

// viewHead is the heading of a column.
type viewHead struct {
	Column
	Class string
}

// viewRow is a row whose repeated keys are drawn together.
type viewRow struct {
	Label string // only where no line of explanation has it
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
	Target string // fragment of its explanation
	Hover  string
	Wide   bool
	Beside string // what Paper is
}

// viewColumn is the explanation of a column.
type viewColumn struct {
	Column
	Anchor   string
	Compared bool // some cell has a number of the paper's, or a verdict
	Lines    []viewLine
}

// reference names what the column's numbers are compared with; Against is its heading.
func (c viewColumn) reference() string { return cmp.Or(c.Beside, "paper") }

func (c viewColumn) Against() string {
	word := c.reference()
	return strings.ToUpper(word[:1]) + word[1:]
}

// viewLine is the explanation of a cell.
type viewLine struct {
	Cell
	Anchor, Label, Command string
}

// viewSummary is the outcome with links to the cells that do not agree.
type viewSummary struct {
	Summary
	Pointers, AstrayPointers []viewPointer
}

type viewPointer struct {
	Pointer
	Target string
}

func newViewSummary(s *Summary, tables []viewTable) *viewSummary {
	if s == nil {
		return nil
	}
	v := &viewSummary{Summary: *s}
	for _, p := range s.Differ {
		v.Pointers = append(v.Pointers, viewPointer{p, target(p, tables)})
	}
	for _, p := range s.Astray {
		v.AstrayPointers = append(v.AstrayPointers, viewPointer{p, target(p, tables)})
	}
	return v
}

// target is the fragment of a cell's explanation, or of its table where the
// cell has none.
func target(p Pointer, tables []viewTable) string {
	for _, t := range tables {
		for _, c := range t.Explained {
			for _, line := range c.Lines {
				if t.ID == p.Table && c.Name == p.Column && line.Label == p.Row {
					return line.Anchor
				}
			}
		}
	}
	return p.Table
}

// lineage is the chain of units behind a table or a figure.
type lineage struct {
	Units []Unit
	Files []File
}

// Ran reports whether the unit has ever run.
func (u Unit) Ran() bool { return !u.Start.IsZero() }

// Lineage is what the table was made by.
func (t viewTable) Lineage() lineage { return lineage{t.Chain, t.Files} }

// Lineage is what the figure was made by.
func (f Figure) Lineage() lineage { return lineage{f.Chain, f.Files} }

// Drawing is the figure's SVG, trusted as [Figure] says.
func (f Figure) Drawing() template.HTML { return template.HTML(f.SVG) }

// Least is the width in pixels below which the figure scrolls, where its smallest
// text has some eight pixels.
func (f Figure) Least() int { return int(1.15 * f.Width) }

// Most is the width in pixels beyond which the figure does not grow.
func (f Figure) Most() int { return int(1.9 * f.Width) }

// newViewTable prepares table number n.
func newViewTable(n int, t Table) viewTable {
	v := viewTable{Table: t, Short: t.Name}
	if v.Short == "" {
		v.Short = Spaced(t.ID)
	}
	v.Heads = heads(t.Columns)
	if len(t.Rows) > 0 {
		v.FirstRow = quoted(t.Rows[0].Label)
	}
	keys := 0
	for j, c := range t.Columns {
		if c.Key {
			keys++
			continue
		}
		v.Explained = append(v.Explained, explain(t, c, j-keys, fmt.Sprintf("x%d.%d", n, j-keys)))
	}
	spans := keySpans(t.Rows, keys)
	for i, row := range t.Rows {
		line := viewRow{}
		if t.Folded {
			line.Label = row.Label
		}
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
			c := viewCell{Cell: cell, Target: v.Explained[j].Anchor, Wide: v.Explained[j].Text, Beside: v.Explained[j].reference()}
			if !t.Folded {
				c.Target = v.Explained[j].Lines[i].Anchor
				c.Hover = cell.hover()
			}
			line.Cells = append(line.Cells, c)
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

// explain is the explanation of the value column at the place j.
func explain(t Table, c Column, j int, anchor string) viewColumn {
	v := viewColumn{Column: c, Anchor: anchor}
	if t.Folded {
		return v
	}
	for i, row := range t.Rows {
		cell := row.Cells[j]
		v.Compared = v.Compared || cell.Paper != "" || cell.Word != ""
		v.Lines = append(v.Lines, viewLine{
			Cell: cell, Anchor: fmt.Sprintf("%s.%d", anchor, i), Label: row.Label,
			Command: "speceval explain " + quoted(t.ID) + " " + quoted(row.Label) + " " + quoted(c.Name),
		})
	}
	return v
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

var plainWord = regexp.MustCompile(`^[\w.=/:@%+,-]+$`)

// quoted is a word as a shell takes it.
func quoted(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
