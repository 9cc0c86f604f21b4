// Package table is the model of a printed table and its three forms: CSV for
// readers that compute, LaTeX for papers, aligned text for terminals.
//
// A table holds values, never formatted strings: CSV writes them at full
// precision, the other two round at the edge as each column says. A value
// that does not exist is Missing and prints as a dash or an empty field; it
// is never zero.
package table

import (
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Table is a titled grid of cells, one row per observation.
type Table struct {
	Title   string // what the rows are, one or a few sentences
	Label   string // LaTeX label, "tab:variance"
	Columns []Column
	Rows    [][]Cell

	// Sections are headings across the table in print, each before the row it
	// names, in rising order. CSV leaves them out.
	Sections []Section

	Notes []string // printed under the table, one line each
}

// Section is a heading of the rows from Row (0-based) to the next section.
type Section struct {
	Row  int
	Head Head
}

// Column names a column and says how its numbers are rounded in print.
type Column struct {
	Name string // CSV header; part of a file contract
	Head Head   // printed heading; the name where empty

	// Group is a heading over adjacent columns that carry the same one; the
	// zero Head stands alone.
	Group Head

	Align  Align
	Format Format
}

// Named is columns of these names, with everything else as it is by itself.
func Named(names ...string) []Column {
	columns := make([]Column, len(names))
	for i, name := range names {
		columns[i].Name = name
	}
	return columns
}

// Head is a heading in plain words and, where those would not do, in LaTeX.
type Head struct {
	Plain string
	TeX   string // raw LaTeX; the escaped Plain where empty
}

// Align is the horizontal placement of a column's cells in print.
type Align int

// Placements of cells. Numbers with the same decimals align when set Right.
const (
	Right Align = iota
	Left
	Center
)

// Format rounds a column's numbers for print. CSV ignores it.
type Format struct {
	Decimals int  // digits after the point
	Percent  bool // multiply by 100 and append a percent sign
	Signed   bool // put a plus sign before numbers above zero

	// Fine gives one decimal more to a number that would have fewer than two
	// significant digits: 0.073 among numbers with two decimals.
	Fine bool

	// Shortest prints the fewest digits that read back as the same number,
	// and ignores Decimals: for constants such as a prior strength.
	Shortest bool
	Scale    float64 // multiply by it first; 0 means 1
}

// valueType says which field of a cell carries its value.
type valueType int

const (
	missing valueType = iota
	number
	integer
	text
)

// Cell is one value. The zero Cell is Missing.
type Cell struct {
	kind   valueType
	number float64
	int    int64
	text   string
	tex    string // raw LaTeX for text; empty means escaped text
	spread *float64
	bold   bool
	mark   string
}

// Missing is a value that does not exist.
func Missing() Cell { return Cell{} }

// Number is a real value. It must be finite: say Missing for a value that is
// not there.
func Number(v float64) Cell { return Cell{kind: number, number: v} }

// Finite is Number of v, Missing where that is not finite.
func Finite(v float64) Cell {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Missing()
	}
	return Number(v)
}

// Optional is Number of what v points at, Missing where v is nil.
func Optional(v *float64) Cell {
	if v == nil {
		return Missing()
	}
	return Number(*v)
}

// Integer is a count, printed with no decimals under any Format.
func Integer[T ~int | ~int32 | ~int64](v T) Cell {
	return Cell{kind: integer, int: int64(v)}
}

// Text is a name or a phrase.
func Text(s string) Cell { return Cell{kind: text, text: s} }

// Math is a phrase whose LaTeX form is given raw: Math("b = 8", "$b=8$").
func Math(plain, tex string) Cell { return Cell{kind: text, text: plain, tex: tex} }

// PlusMinus is a number followed in print by its spread, in the same unit and
// rounded likewise. CSV leaves spreads out: they are columns of their own.
func (c Cell) PlusMinus(spread float64) Cell { c.spread = &spread; return c }

// Bold is c set in bold face: the best of its row or column.
func (c Cell) Bold() Cell { c.bold = true; return c }

// Marked is c followed by a mark, usually a dagger that a note explains. CSV
// leaves marks out.
func (c Cell) Marked(mark string) Cell { c.mark = mark; return c }

// Validate reports the first thing that cannot be printed: a row of the wrong
// length, a number that is not finite, or a section out of place.
func (t Table) Validate() error {
	for i, row := range t.Rows {
		if len(row) != len(t.Columns) {
			return fmt.Errorf("table %s: row %d has %d cells, want %d",
				t.Label, i+1, len(row), len(t.Columns))
		}
		for j, c := range row {
			if v, ok := c.notFinite(); ok {
				return fmt.Errorf("table %s: row %d, column %s: %v is not a finite number",
					t.Label, i+1, t.Columns[j].Name, v)
			}
		}
	}
	for i, s := range t.Sections {
		if s.Row < 0 || s.Row >= len(t.Rows) || i > 0 && s.Row <= t.Sections[i-1].Row {
			return fmt.Errorf("table %s: section %q before row %d is out of place", t.Label, s.Head.Plain, s.Row+1)
		}
	}
	return nil
}

// notFinite is the number or spread of a cell that is not finite.
func (c Cell) notFinite() (v float64, found bool) {
	numbers := []float64{c.number}
	if c.spread != nil {
		numbers = append(numbers, *c.spread)
	}
	for _, v := range numbers {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return v, true
		}
	}
	return 0, false
}

// section is the heading before a row, if one stands there.
func (t Table) section(row int) (Head, bool) {
	for _, s := range t.Sections {
		if s.Row == row {
			return s.Head, true
		}
	}
	return Head{}, false
}

// Float is the value of a Number; ok is false for any other cell.
func (c Cell) Float() (v float64, ok bool) { return c.number, c.kind == number }

// IsMissing reports whether the cell has no value.
func (c Cell) IsMissing() bool { return c.kind == missing }

// IsText reports whether the cell is a name or a phrase.
func (c Cell) IsText() bool { return c.kind == text }

// Value is the number in the cell, a count among them; nil where there is none.
func (c Cell) Value() *float64 {
	if v, err := strconv.ParseFloat(c.Exact(), 64); err == nil && !c.IsText() {
		return &v
	}
	return nil
}

// Grid is a table of words for a terminal.
type Grid struct {
	Title string
	Heads []string // "<" before one sets its column to the left
	Rows  [][]string
	Notes []string
}

// None stands for an empty field of a Grid.
const None = "—"

// Add adds a row.
func (g *Grid) Add(row ...string) { g.Rows = append(g.Rows, row) }

// Write writes the grid as WriteText does, and nothing if it is empty.
func (g *Grid) Write(w io.Writer) error {
	if len(g.Rows)+len(g.Notes) == 0 {
		return nil
	}
	t := Table{Title: g.Title, Notes: g.Notes}
	for _, head := range g.Heads {
		c := Column{Name: strings.TrimPrefix(head, "<")}
		if c.Name != head {
			c.Align = Left
		}
		t.Columns = append(t.Columns, c)
	}
	for _, row := range g.Rows {
		cells := make([]Cell, len(row))
		for i, word := range row {
			cells[i] = Text(word)
		}
		t.Rows = append(t.Rows, cells)
	}
	return WriteText(w, t)
}

// Printed is a table set in LaTeX, in the parts that a document places as it
// likes.
type Printed struct {
	Caption string // raw LaTeX, on one line
	Label   string
	Align   string // the letters of the columns: "@{}lrr@{}"

	Heads []string // lines of headings, with the rules between them
	Body  []string // lines of rows and sections
	Notes []string // lines under the table, with the space before them

	columns int
}

// Print sets a table in LaTeX. A table that Validate refuses is an error.
func Print(t Table) (Printed, error) {
	if err := t.Validate(); err != nil {
		return Printed{}, err
	}
	return Printed{
		Caption: Escape(t.Title), Label: oneLine(t.Label), Align: "@{}" + texAligns(t.Columns) + "@{}",
		Heads: texHeads(t), Body: texBody(t), Notes: texNotes(t), columns: len(t.Columns),
	}, nil
}

// Rows is the number of printed lines, headings of sections among them.
func (p Printed) Rows() int {
	n := 0
	for _, line := range p.Body {
		if strings.HasSuffix(line, `\\`) {
			n++
		}
	}
	return n
}

// Long is the table as a longtable, which runs over pages and repeats its
// headings; the document needs booktabs and longtable. Caption and label stand
// at its beginning. An empty caption leaves both out.
func (p Printed) Long() string {
	var b strings.Builder
	write := func(lines ...string) {
		for _, line := range lines {
			b.WriteString(line + "\n")
		}
	}
	write(`\begin{longtable}{` + p.Align + `}`)
	if p.Caption != "" {
		write(fmt.Sprintf(`  \caption{%s}\label{%s}\\`, p.Caption, p.Label))
	}
	write(`  \toprule`)
	write(p.Heads...)
	write(`  \midrule`, `  \endfirsthead`, `  \toprule`)
	write(p.Heads...)
	write(`  \midrule`, `  \endhead`, `  \midrule`,
		fmt.Sprintf(`  \multicolumn{%d}{@{}r@{}}{\footnotesize\emph{continued on the next page}} \\`, p.columns), `  \endfoot`, `  \bottomrule`)
	write(p.Notes...)
	write(`  \endlastfoot`)
	write(p.Body...)
	write(`\end{longtable}`)
	return b.String()
}

// Columns is the number of columns.
func (p Printed) Columns() int { return p.columns }

// command is TeX that prints nothing, or one sign.
var command = regexp.MustCompile(`\\[a-zA-Z]+|[\\{}$]`)

// Width is about how many characters the columns hold side by side: those of the
// longest cell of each, headings of the last line and rows.
func (p Printed) Width() int {
	widths := make([]int, p.columns)
	for _, line := range slices.Concat(p.Heads[len(p.Heads)-1:], p.Body) {
		cells := strings.Split(strings.TrimSuffix(strings.TrimSpace(line), `\\`), " & ")
		if len(cells) != p.columns {
			continue // a heading of a section
		}
		for j, cell := range cells {
			widths[j] = max(widths[j], len(command.ReplaceAllString(strings.TrimSpace(cell), "")))
		}
	}
	sum := 0
	for _, w := range widths {
		sum += w
	}
	return sum
}
