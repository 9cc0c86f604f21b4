// Package rows reads the rows of upstream files, only the columns that are needed,
// in file order and in bounded memory whatever the size of the file: of JSONL the
// longest line, of at most 256 MiB. The files are Parquet, JSONL or CSV from other
// authors: a fault is an error that names the file, the row and the column.
package rows

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"speceval/internal/files"
	"speceval/internal/parquetfile"
)

// Kind is what a column must hold.
type Kind int

// The kinds.
const (
	Text   Kind = iota // a string; a number is taken as it is written
	Number             // an integer
	Texts              // a list of strings; not in CSV
	Filled             // whether there is anything but null and "": the value is not kept
	Place              // of JSONL: where in the file the string stands, not the string
)

// Column is one that is read. A file may lack an optional one, or have null there.
type Column struct {
	Name     string
	Kind     Kind
	Optional bool
}

// maxValue is how many bytes of a row a column may hold, unless they are not kept.
const maxValue = 16 << 20

// format reads the rows of an open file into a record, and emits each.
type format struct {
	lacks []Kind // kinds that it cannot give
	read  func(ctx context.Context, file *os.File, into *record) error
}

var formats = map[string]format{
	"parquet": {[]Kind{Place}, readParquet},
	"jsonl":   {nil, readJSONL},
	"csv":     {[]Kind{Place, Texts}, readCSV},
}

// Read calls each for every row of the file at path, whose format is "parquet",
// "jsonl" or "csv". Blank lines are no rows. It ends with the first error of the
// file, of each or of the context, and names the file and the row. Texts are valid
// UTF-8 and of at most 16 MiB; JSONL is checked in the columns that are passed over
// as well.
func Read(ctx context.Context, path, format string, columns []Column, each func(Row) error) error {
	f, ok := formats[format]
	if !ok {
		return fmt.Errorf("%s: there is no format %q, want parquet, jsonl or csv", path, format)
	}
	for _, c := range columns {
		if slices.Contains(f.lacks, c.Kind) {
			return fmt.Errorf("%s: a %s file cannot give column %q as %s", path, format, c.Name, c.Kind)
		}
	}
	file, err := files.OpenInput(path, files.Upstream)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := sniff(file, format); err != nil {
		return fmt.Errorf("%s %w", path, err)
	}
	into := newRecord(columns, func(r Row) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return each(r)
	})
	if err := f.read(ctx, file, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (k Kind) String() string {
	switch k {
	case Text:
		return "a text or a number"
	case Number:
		return "an integer"
	case Texts:
		return "a list of texts"
	case Place:
		return "a place"
	}
	return "anything"
}

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
	if len(c.text)+16*len(c.ends) > maxValue { // 16 is what a string takes in addition to its bytes
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

// sniff says what a file is that is no file of data at all, by its first bytes:
// what is saved in the place of a download that failed.
func sniff(file *os.File, format string) error {
	head := make([]byte, 512)
	n, err := file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("cannot be read: %w", err)
	}
	text := bytes.TrimSpace(bytes.TrimPrefix(head[:n], byteOrderMark))
	switch {
	case n == 0:
		return errors.New("is empty: download it again")
	case bytes.HasPrefix(text, []byte("version https://git-lfs")):
		return errors.New("is a Git LFS pointer, not the file that it stands for: get that with git lfs pull, or download it")
	case bytes.HasPrefix(text, []byte("<")):
		return fmt.Errorf("is a web page, not a %s file: download the file itself (of a gated dataset only after its terms are accepted)", format)
	case format != "parquet" && parquetfile.IsParquet(head):
		return fmt.Errorf("is a Parquet file, not a %s file", format)
	}
	return nil
}

// byteOrderMark begins some CSV files.
var byteOrderMark = []byte("\ufeff")
