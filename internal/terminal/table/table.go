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

// Named is columns of these names; "<" before one sets its column to the left.
func Named(names ...string) []Column {
	columns := make([]Column, len(names))
	for i, name := range names {
		left := false
		if columns[i].Name, left = strings.CutPrefix(name, "<"); left {
			columns[i].Align = Left
		}
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
	Fine  bool
	Scale float64 // multiply by it first; 0 means 1
}

var formats = regexp.MustCompile(`^(\+?)\.(\d)(%|pt|ms|G)?(~?)$`)

// ParseFormat reads a format: decimals behind a point, "+" before them for a Signed one and
// "~" behind for a Fine one; "%" for percent, "pt" for percentage points, "ms" of seconds and
// "G" for billions. ".1%" is 24.6%, "+.2pt" is +1.25. The empty one has no decimals.
func ParseFormat(s string) (f Format) {
	m := formats.FindStringSubmatch(s)
	if m == nil {
		if s != "" {
			panic(fmt.Sprintf("%q is no format", s))
		}
		return f
	}
	f.Decimals, _ = strconv.Atoi(m[2])
	f.Signed, f.Fine, f.Percent = m[1] != "", m[4] != "", m[3] == "%"
	f.Scale = map[string]float64{"pt": 100, "ms": 1000, "G": 1e-9}[m[3]]
	return f
}

// Print is a number as it is printed in plain text. One that is rounded to zero has no sign.
func (f Format) Print(v float64) string {
	if f.Scale != 0 {
		v *= f.Scale
	}
	decimals, suffix := f.Decimals, ""
	if f.Percent {
		v, suffix = 100*v, "%"
	}
	if f.Fine && math.Abs(v) < math.Pow10(1-decimals) {
		decimals++
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Trim(s, "-0.") == "" {
		s = strings.TrimPrefix(s, "-")
	} else if f.Signed && v > 0 {
		s = "+" + s
	}
	return s + suffix
}

// spread rounds the spread of a number for print: in the same unit, which
// it does not name, and with as many decimals.
func (f Format) spread(number, spread float64) string {
	_, fraction, _ := strings.Cut(strings.TrimSuffix(f.Print(number), "%"), ".")
	f.Signed, f.Fine, f.Decimals = false, false, len(fraction)
	return strings.TrimSuffix(f.Print(spread), "%")
}

// Minus is a printed number with a minus sign in place of a hyphen.
func Minus(printed string) string {
	if digits, negative := strings.CutPrefix(printed, "-"); negative {
		return "−" + digits
	}
	return printed
}

// Cell is one value. The zero Cell is Missing.
type Cell struct {
	value  any    // float64, int64 or string; nil: missing
	tex    string // raw LaTeX for text; empty means escaped text
	spread *float64
	bold   bool
	mark   string
}

// Missing is a value that does not exist.
func Missing() Cell { return Cell{} }

// Number is a real value. It must be finite: say Missing for a value that is
// not there.
func Number(v float64) Cell { return Cell{value: v} }

// Finite is Number of v, Missing where that is not finite.
func Finite(v float64) Cell {
	if !finite(v) {
		return Missing()
	}
	return Number(v)
}

// Integer is a count, printed with no decimals under any Format.
func Integer[T ~int | ~int32 | ~int64](v T) Cell { return Cell{value: int64(v)} }

// Text is a name or a phrase.
func Text(s string) Cell { return Cell{value: s} }

// Math is a phrase whose LaTeX form is given raw: Math("b = 8", "$b=8$").
func Math(plain, tex string) Cell { return Cell{value: plain, tex: tex} }

// PlusMinus is a number followed in print by its spread, in the same unit and
// rounded likewise. CSV leaves spreads out: they are columns of their own.
func (c Cell) PlusMinus(spread float64) Cell { c.spread = &spread; return c }

// Bold is c set in bold face: the best of its row or column.
func (c Cell) Bold() Cell { c.bold = true; return c }

// Marked is c followed by a mark, usually a dagger that a note explains. CSV
// leaves marks out.
func (c Cell) Marked(mark string) Cell { c.mark = mark; return c }

// Float is the value of a Number; ok is false for any other cell.
func (c Cell) Float() (v float64, ok bool) {
	v, ok = c.value.(float64)
	return v, ok
}

// IsMissing reports whether the cell has no value.
func (c Cell) IsMissing() bool { return c.value == nil }

// IsText reports whether the cell is a name or a phrase.
func (c Cell) IsText() bool {
	_, ok := c.value.(string)
	return ok
}

// Value is the number in the cell, a count among them; nil where there is none.
func (c Cell) Value() *float64 {
	switch v := c.value.(type) {
	case float64:
		return &v
	case int64:
		n := float64(v)
		return &n
	}
	return nil
}

// Exact is the cell's value with nothing lost, empty where it is missing: its
// field in CSV.
func (c Cell) Exact() string {
	switch v := c.value.(type) {
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case int64:
		return strconv.FormatInt(v, 10)
	case string:
		return v
	}
	return ""
}

// Validate reports the first thing that cannot be printed: a row of the wrong
// length, or a number that is not finite.
func (t Table) Validate() error {
	for i, row := range t.Rows {
		if len(row) != len(t.Columns) {
			return fmt.Errorf("table %s: row %d has %d cells, want %d", t.Label, i+1, len(row), len(t.Columns))
		}
		for j, c := range row {
			v, _ := c.Float()
			if finite(v) && c.spread != nil {
				v = *c.spread
			}
			if !finite(v) {
				return fmt.Errorf("table %s: row %d, column %s: %v is not a finite number", t.Label, i+1, t.Columns[j].Name, v)
			}
		}
	}
	return nil
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// section is the heading before a row, if one stands there.
func (t Table) section(row int) (Head, bool) {
	for _, s := range t.Sections {
		if s.Row == row {
			return s.Head, true
		}
	}
	return Head{}, false
}

// Grid is a table of words for a terminal.
type Grid struct {
	Title string
	Heads []string // as Named reads them
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
	t := Table{Title: g.Title, Notes: g.Notes, Columns: Named(g.Heads...)}
	for _, row := range g.Rows {
		cells := make([]Cell, len(row))
		for i, word := range row {
			cells[i] = Text(word)
		}
		t.Rows = append(t.Rows, cells)
	}
	return WriteText(w, t)
}
