package rowfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"

	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/schema"

	"speceval/internal/store/files"
	"speceval/internal/store/parquetfile"
)

// maxPageBytes is how long a page may be.
const maxPageBytes = 1 << 26

// maxRows is how many rows a file may have that is read as a whole, or a row group.
const maxRows = 1 << 22

// MissingColumnError says that a file lacks a column of the row struct.
type MissingColumnError struct{ Column string }

func (e *MissingColumnError) Error() string {
	return fmt.Sprintf("column %s is missing", e.Column)
}

// locate finds the columns of the struct in the file's schema, by name: the columns as they
// stand in the file.
func locate(file *schema.Schema, columns []column) (found []column, err error) {
	for _, c := range columns {
		index := file.ColumnIndexByName(c.name)
		if index < 0 && c.lenient {
			continue
		}
		if index < 0 {
			return nil, &MissingColumnError{Column: c.name}
		}
		leaf := file.Column(index)
		if _, empty := leaf.LogicalType().(schema.NullLogicalType); empty && c.optional {
			continue // a column of nulls alone, whose type its writer did not know
		}
		codecs := codecsFor(c.kind)
		match := slices.IndexFunc(codecs, func(k codec) bool { return k.physical() == leaf.PhysicalType() })
		if match < 0 || !flat(leaf) || !isPlain(leaf.LogicalType()) {
			return nil, fmt.Errorf("column %s has type %s %s, want %s", c.name,
				leaf.PhysicalType(), leaf.LogicalType(), c.codec.physical())
		}
		c.codec = codecs[match]
		c.index = index
		found = append(found, c)
	}
	return found, nil
}

// flat reports whether a column is neither a list nor nested.
func flat(c *schema.Column) bool { return c.MaxRepetitionLevel() == 0 && c.MaxDefinitionLevel() <= 1 }

// isPlain reports whether the values of a column with a logical type mean what their
// physical type says, and no decimal or time.
func isPlain(logical schema.LogicalType) bool {
	switch logical.(type) {
	case schema.NoLogicalType, schema.StringLogicalType, schema.IntLogicalType, *schema.IntLogicalType, schema.UnknownLogicalType:
		return true
	}
	return false
}

// Reader reads a file of more rows than fit in memory, a row group at a time.
// It reads nothing but the footer and the columns of T.
type Reader[T any] struct {
	name    string
	disk    *os.File
	file    *parquetfile.File
	columns []column
	group   int // the next one
	rows    int // before it
}

// Open opens the file at path and reads its footer. Its errors and the errors of
// Next are like those of [Decode]; rows are counted over the whole file. Close
// ends it.
func Open[T any](path string) (*Reader[T], error) {
	disk, err := files.OpenInput(path, files.Rows)
	if err != nil {
		return nil, err
	}
	info, err := disk.Stat()
	var r *Reader[T]
	if err == nil {
		r, err = newReader[T](disk, info.Size(), path)
	}
	if err != nil {
		disk.Close()
		return nil, err
	}
	r.disk = disk
	return r, nil
}

// newReader reads the footer of a file and finds the columns of T in it.
func newReader[T any](from parquet.ReaderAtSeeker, size int64, name string) (_ *Reader[T], err error) {
	defer parquetfile.Recover(name, &err)
	columns, err := columnsOf(reflect.TypeFor[T]())
	if err != nil {
		return nil, err
	}
	r := &Reader[T]{name: name}
	if r.file, err = parquetfile.Open(from, size, maxPageBytes); err == nil {
		r.columns, err = locate(r.file.MetaData().Schema, columns)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// Footer is the key-values of the file.
func (r *Reader[T]) Footer() map[string]string { return r.file.Footer() }

// Next reads the next row group, into memory of its own. After the last one
// the error is io.EOF.
func (r *Reader[T]) Next() (rows []T, err error) {
	return r.next(nil)
}

// all reads the rows of all groups, and the footer.
func (r *Reader[T]) all() (rows []T, footer map[string]string, err error) {
	for err == nil {
		rows, err = r.next(rows)
	}
	if !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	return rows, r.Footer(), nil
}

// next appends the rows of the next row group to rows.
func (r *Reader[T]) next(rows []T) (_ []T, err error) {
	if r.group == r.file.NumRowGroups() {
		return rows, io.EOF
	}
	defer parquetfile.Recover(r.name, &err)
	group := r.file.RowGroup(r.group)
	r.group++
	count := group.NumRows()
	if count < 0 || count > maxRows-int64(len(rows)) {
		return nil, fmt.Errorf("%s: row group %d has %d rows, at most %d can be read at once", r.name, r.group, count, maxRows)
	}
	rows = append(rows, make([]T, count)...)
	added := reflect.ValueOf(rows[len(rows)-int(count):])
	for _, c := range r.columns {
		at, err := r.read(group, c, added)
		if err != nil && at >= 0 {
			return nil, fmt.Errorf("%s: column %s, row %d: %w", r.name, c.name, r.rows+at+1, err)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: column %s: %w", r.name, c.name, err)
		}
	}
	r.rows += int(count)
	return rows, nil
}

// read reads one column of a row group into rows. An error of one row comes with its
// index, another with -1.
func (r *Reader[T]) read(group *file.RowGroupReader, c column, rows reflect.Value) (at int, err error) {
	at = -1
	defer parquetfile.Recover(fmt.Sprintf("row group %d", r.group), &err)
	chunk, values, err := r.file.Column(group, c.index)
	if err != nil {
		return -1, err
	}
	if values != int64(rows.Len()) {
		return -1, fmt.Errorf("damaged Parquet file: %d values in a row group of %d rows", values, rows.Len())
	}
	return c.codec.read(chunk, rows, c)
}

// Close closes the file.
func (r *Reader[T]) Close() error { return r.disk.Close() }
