package rows

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Row is a row of a file, valid until the next one is read; what its methods give
// is the caller's. They panic for a column that was not asked for, or not as what
// they give.
type Row struct{ record *record }

// Number is that of the row in its file, from 1.
func (r Row) Number() int { return r.record.number }

// Text is the value of a column of kind Text, "" where there is none.
func (r Row) Text(name string) string { return string(r.record.cell(name, Text).text) }

// Int is the value of a column of kind Number, 0 where there is none.
func (r Row) Int(name string) int { return r.record.cell(name, Number).number }

// Texts is the value of a column of kind Texts, nil where there is none.
func (r Row) Texts(name string) []string {
	cell := r.record.cell(name, Texts)
	all, from := string(cell.text), 0
	var texts []string
	for _, end := range cell.ends {
		texts = append(texts, all[from:end])
		from = end
	}
	return texts
}

// Filled is the value of a column of kind Filled.
func (r Row) Filled(name string) bool { return r.record.cell(name, Filled).filled }

// Place is the value of a column of kind Place, of length 0 where there is none.
func (r Row) Place(name string) Span { return r.record.cell(name, Place).place }

// record is the row that is being read.
type record struct {
	number  int
	columns []Column
	cells   []cell // of the columns
	each    func(Row) error
}

// cell is the value of a column; its kind says which field.
type cell struct {
	text   []byte // of Texts: one after another
	ends   []int  // of Texts: of each in text
	number int
	filled bool
	place  Span
}

func newRecord(columns []Column, each func(Row) error) *record {
	return &record{columns: columns, cells: make([]cell, len(columns)), each: each}
}

// begin makes all cells empty, for the next row.
func (r *record) begin() {
	r.number++
	for i := range r.cells {
		r.cells[i] = cell{text: r.cells[i].text[:0], ends: r.cells[i].ends[:0]}
	}
}

// emit gives the row to who asked for it.
func (r *record) emit() error {
	if err := r.each(Row{r}); err != nil {
		return r.fault(err)
	}
	return nil
}

// fault says in which row an error is.
func (r *record) fault(err error) error { return fmt.Errorf("row %d: %w", r.number, err) }

// columnFault says in which row and column an error is.
func (r *record) columnFault(i int, err error) error {
	return fmt.Errorf("row %d: column %q: %w", r.number, r.columns[i].Name, err)
}

func (r *record) cell(name string, kind Kind) *cell {
	for i, c := range r.columns {
		if c.Name == name && c.Kind == kind {
			return &r.cells[i]
		}
	}
	panic(fmt.Sprintf("rows: column %q was not asked for as %s", name, kind))
}

// index is that of the column with a name, or -1.
func (r *record) index(name []byte) int {
	return slices.IndexFunc(r.columns, func(c Column) bool { return c.Name == string(name) })
}

// null is the fault of a column that is null, if it is one.
func (r *record) null(i int) error {
	if c := r.columns[i]; c.Optional || c.Kind == Filled {
		return nil
	}
	return errors.New("null in a column that needs a value")
}

// setText takes the text of a file for a column of kind Text, Number or Filled. It
// keeps the slice.
func (r *record) setText(i int, text []byte) error {
	cell := &r.cells[i]
	cell.filled = len(text) > 0
	if r.columns[i].Kind == Filled {
		return nil
	}
	if len(text) > maxValue {
		return errLong
	}
	if !utf8.Valid(text) {
		return errUTF8
	}
	cell.text = text
	if r.columns[i].Kind == Number {
		return cell.parse()
	}
	return nil
}

// parse makes the text of a cell its number.
func (c *cell) parse() error {
	number, err := strconv.Atoi(string(c.text[:min(len(c.text), 100)]))
	if err != nil {
		return fmt.Errorf("is %.100q, want an integer of 64 bits", c.text)
	}
	c.number = number
	return nil
}

// endText ends one of the texts of a list.
func (c *cell) endText() error {
	c.ends = append(c.ends, len(c.text))
	if len(c.text)+16*len(c.ends) > maxValue { // 16 is what a string takes beside its bytes
		return errLong
	}
	return nil
}

var (
	errLong = fmt.Errorf("is longer than %d bytes", maxValue)
	errUTF8 = errors.New("is not valid UTF-8")
)

// missing says that a file, or a row, lacks a column, and what is there instead.
func missing(name string, there []string) error {
	const most = 40
	rest := ""
	if len(there) > most {
		there, rest = there[:most], ", …"
	}
	var list strings.Builder
	for i, other := range there {
		if i > 0 {
			list.WriteString(", ")
		}
		fmt.Fprintf(&list, "%.60q", other)
	}
	return fmt.Errorf("column %q is missing (there are %s%s): another revision of the dataset may have other columns", name, list.String(), rest)
}
