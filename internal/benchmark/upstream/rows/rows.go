// Package rows reads the rows of upstream files, the columns that are needed, in file
// order and a row at a time: of JSONL one line is in memory, of Parquet a page of each
// column. The files are Parquet, JSONL or CSV of other authors; an error names the
// file, the row and the column.
package rows

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"speceval/internal/store/csvfile"
	"speceval/internal/store/files"
)

// maxPiece bounds a line of JSONL, a page of Parquet and a CSV file, in bytes.
const maxPiece = 256 << 20

// Kind is the kind of value that a column must hold.
type Kind int

// The kinds.
const (
	Text     Kind = iota // a text; a number is taken as it is written
	Optional             // a Text that may be missing or null, and is "" then
	Texts                // a list of texts; of Parquet and JSONL
	Place                // where in the file a text stands, which may be missing; of JSONL
)

func (k Kind) String() string {
	return [...]string{"a text or a number", "a text or a number", "a list of texts", "a text"}[k]
}

// null is the fault of a column that is null, if it is one.
func (k Kind) null() error {
	if k == Optional || k == Place {
		return nil
	}
	return errors.New("null in a column that needs a value")
}

// Row is a row of a file, valid until the next one is read.
type Row struct {
	Number int // in the file, from 1
	cells  map[string]cell
}

// cell is the value of a column; its kind says which field.
type cell struct {
	text  string
	texts []string
	place Span
}

// Text is the value of a column of kind Text or Optional.
func (r Row) Text(name string) string { return r.cells[name].text }

// Texts is the value of a column of kind Texts.
func (r Row) Texts(name string) []string { return r.cells[name].texts }

// Place is the value of a column of kind Place, of length 0 where there is none.
func (r Row) Place(name string) Span { return r.cells[name].place }

// Read calls each for every row of the file at path, whose name ends in .parquet, .jsonl
// or .csv. Blank lines are no rows. It ends with the first error of the file, of each
// or of the context.
func Read(ctx context.Context, path string, columns map[string]Kind, each func(Row) error) error {
	read, ok := map[string]func(*os.File, *reader) error{".parquet": readParquet, ".jsonl": readJSONL, ".csv": readCSV}[filepath.Ext(path)]
	if !ok {
		return fmt.Errorf("%s: want a name that ends in .parquet, .jsonl or .csv", path)
	}
	file, err := files.OpenInput(path, files.Upstream)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := sniff(file); err != nil {
		return fmt.Errorf("%s %w", path, err)
	}
	r := &reader{ctx: ctx, columns: columns, each: each, row: Row{cells: map[string]cell{}}}
	if err := read(file, r); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// reader passes the rows of a file on.
type reader struct {
	ctx     context.Context
	columns map[string]Kind
	each    func(Row) error
	row     Row // the present one
}

// set gives the present row a value.
func (r *reader) set(name string, value cell) error {
	if !utf8.ValidString(value.text) || slices.ContainsFunc(value.texts, func(s string) bool { return !utf8.ValidString(s) }) {
		return errors.New("is not valid UTF-8")
	}
	r.row.cells[name] = value
	return nil
}

// next reads a row by fill, and passes it on. The error names the row.
func (r *reader) next(fill func() error) error {
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	r.row.Number++
	clear(r.row.cells)
	err := fill()
	if err == nil {
		err = r.each(r.row)
	}
	if err != nil {
		return fmt.Errorf("row %d: %w", r.row.Number, err)
	}
	return nil
}

// lacks is an error if a column that needs a value is not among the file's columns.
func (r *reader) lacks(there []string) error {
	for _, name := range slices.Sorted(maps.Keys(r.columns)) {
		if r.columns[name].null() != nil && !slices.Contains(there, name) {
			return fmt.Errorf("column %q is missing (there are %.40q): another revision of the dataset may have other columns", name, there[:min(len(there), 40)])
		}
	}
	return nil
}

// sniff is an error of a file that a failed download leaves, by its first bytes.
func sniff(file *os.File) error {
	head := make([]byte, 512)
	n, err := file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("cannot be read: %w", err)
	}
	switch text := bytes.TrimSpace(head[:n]); {
	case n == 0:
		return errors.New("is empty: download it again")
	case bytes.HasPrefix(text, []byte("version https://git-lfs")), bytes.HasPrefix(text, []byte("<")):
		return errors.New("is a Git LFS pointer or a web page, not the file: download it (of a gated dataset after its terms are accepted)")
	}
	return nil
}

// readCSV reads CSV, every byte of a cell as it is.
func readCSV(file *os.File, r *reader) error {
	text, err := io.ReadAll(io.LimitReader(file, maxPiece+1))
	if err == nil && len(text) > maxPiece {
		err = fmt.Errorf("is longer than %d MiB", maxPiece>>20)
	}
	if err != nil {
		return err
	}
	var header []string
	for line, err := range csvfile.Rows(text) {
		switch {
		case header == nil && err != nil:
			return fmt.Errorf("header: %w", err)
		case header == nil:
			header = line.Cells
			err = r.lacks(header)
		default:
			err = r.next(func() error { return r.setCells(header, line.Cells, err) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// setCells makes the cells of a line values. An empty one of an optional column is none.
func (r *reader) setCells(header, cells []string, err error) error {
	if err == nil && len(cells) != len(header) {
		err = fmt.Errorf("has %d fields, the header has %d", len(cells), len(header))
	}
	for i := 0; i < len(header) && err == nil; i++ {
		if _, wanted := r.columns[header[i]]; wanted {
			if err = r.set(header[i], cell{text: cells[i]}); err != nil {
				err = fmt.Errorf("column %q: %w", header[i], err)
			}
		}
	}
	return err
}
