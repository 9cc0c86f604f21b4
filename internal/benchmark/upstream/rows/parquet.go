package rows

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/schema"

	"speceval/internal/store/parquetfile"
)

// readParquet reads a value at a time: batches of the library keep all pages that they
// are of.
func readParquet(f *os.File, r *reader) error {
	p, columns, err := openParquet(f, r)
	if err != nil {
		return err
	}
	for g := range p.NumRowGroups() {
		group := p.RowGroup(g)
		for i := range columns {
			if err := columns[i].open(p, group); err != nil {
				return fmt.Errorf("row group %d: column %q: %w", g+1, columns[i].name, err)
			}
		}
		for range group.NumRows() {
			err := r.next(func() error {
				for i := range columns {
					if err := columns[i].read(r); err != nil {
						return fmt.Errorf("column %q: %w", columns[i].name, err)
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// openParquet reads the footer, and finds the wanted columns.
func openParquet(f *os.File, r *reader) (p *parquetfile.File, columns []parquetColumn, err error) {
	defer parquetfile.Recover("footer", &err)
	info, err := f.Stat()
	if err == nil {
		p, err = parquetfile.Open(f, info.Size(), maxPiece)
	}
	if err == nil {
		columns, err = parquetColumns(p.MetaData().Schema, r)
	}
	return p, columns, err
}

// parquetColumn reads a column of a file.
type parquetColumn struct {
	name    string
	want    Kind
	index   int // in the file
	full    int16
	values  file.ColumnChunkReader
	pending bool // the value below is of the next row

	repetition, definition [1]int16 // levels: of a row's first value 0, and of a value that is not null full
	text                   [1]parquet.ByteArray
	short                  [1]int32
	long                   [1]int64
}

// parquetColumns finds the wanted columns of a file.
func parquetColumns(s *schema.Schema, r *reader) (columns []parquetColumn, err error) {
	var names []string
	for i := range s.Root().NumFields() {
		names = append(names, s.Root().Field(i).Name())
	}
	for i := range s.NumColumns() {
		leaf := s.Column(i)
		name, kind, list := s.ColumnRoot(i).Name(), leaf.PhysicalType(), leaf.MaxRepetitionLevel() == 1
		want, wanted := r.columns[name]
		number := kind == parquet.Types.Int32 || kind == parquet.Types.Int64
		switch {
		case !wanted:
		case list != (want == Texts), !list && leaf.Path() != name, kind != parquet.Types.ByteArray && (list || !number):
			return nil, fmt.Errorf("column %q is %s, a list: %v; want %s: another revision of the dataset may have other types", leaf.Path(), kind, list, want)
		default:
			columns = append(columns, parquetColumn{name: name, want: want, index: i, full: leaf.MaxDefinitionLevel()})
		}
	}
	return columns, r.lacks(names)
}

// open opens the column in a row group.
func (c *parquetColumn) open(p *parquetfile.File, group *file.RowGroupReader) (err error) {
	defer parquetfile.Recover("its pages", &err)
	c.pending = false
	c.values, _, err = p.Column(group, c.index)
	return err
}

// next reads a value, and reports whether there was one.
func (c *parquetColumn) next() (more bool, err error) {
	var read int64
	switch values := c.values.(type) {
	case *file.ByteArrayColumnChunkReader:
		read, _, err = values.ReadBatch(1, c.text[:], c.definition[:], c.repetition[:])
	case *file.Int32ColumnChunkReader:
		read, _, err = values.ReadBatch(1, c.short[:], c.definition[:], c.repetition[:])
		c.text[0] = strconv.AppendInt(nil, int64(c.short[0]), 10)
	case *file.Int64ColumnChunkReader:
		read, _, err = values.ReadBatch(1, c.long[:], c.definition[:], c.repetition[:])
		c.text[0] = strconv.AppendInt(nil, c.long[0], 10)
	}
	if err = errors.Join(err, c.values.Err()); err != nil {
		err = fmt.Errorf("damaged Parquet file: %w", err)
	}
	return read == 1, err
}

// read reads the value of the next row: of a list all values, and the first of the row
// after it.
func (c *parquetColumn) read(r *reader) (err error) {
	defer parquetfile.Recover("its values", &err)
	if !c.pending {
		if c.pending, err = c.next(); err != nil {
			return err
		}
	}
	if !c.pending {
		return errors.New("damaged Parquet file: it holds fewer values than it claims")
	}
	c.pending = false
	null := c.full > 0 && c.definition[0] < c.full
	switch {
	case c.want != Texts && null:
		return c.want.null()
	case c.want != Texts:
		return r.set(c.name, cell{text: string(c.text[0])})
	}
	texts := []string{} // a null or empty list is one value without a text
	for i := 0; ; i++ {
		if !null {
			texts = append(texts, string(c.text[0]))
		}
		if c.pending, err = c.next(); err != nil {
			return err
		}
		if !c.pending || c.repetition[0] == 0 {
			return r.set(c.name, cell{texts: texts})
		}
		if null = null || c.definition[0] < c.full; null {
			return errors.New("is a list with null, want a list of texts")
		}
	}
}
