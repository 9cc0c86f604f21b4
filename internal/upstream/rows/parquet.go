package rows

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/schema"

	"speceval/internal/parquetfile"
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
				return fmt.Errorf("row group %d: column %q: %w", g+1, columns[i].Name, err)
			}
		}
		for range group.NumRows() {
			err := r.next(func() error {
				for i := range columns {
					if err := columns[i].read(r); err != nil {
						return fmt.Errorf("column %q: %w", columns[i].Name, err)
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
	Column
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
		node := s.Root().Field(i)
		names = append(names, node.Name())
		column, wanted := r.column(node.Name())
		if !wanted {
			continue
		}
		for group, ok := node.(*schema.GroupNode); ok && group.NumFields() == 1; group, ok = node.(*schema.GroupNode) {
			node = group.Field(0)
		}
		c := parquetColumn{Column: column, index: s.ColumnIndexByNode(node)}
		if c.index < 0 {
			return nil, fmt.Errorf("column %q is a structure, want %s", c.Name, c.Kind)
		}
		leaf := s.Column(c.index)
		c.full = leaf.MaxDefinitionLevel()
		kind := leaf.PhysicalType()
		number := kind == parquet.Types.Int32 || kind == parquet.Types.Int64
		list := leaf.MaxRepetitionLevel() == 1
		if list != (c.Kind == Texts) || c.Kind == Place || kind != parquet.Types.ByteArray && (list || !number) {
			return nil, fmt.Errorf("column %q is %s, a list: %v; want %s: another revision of the dataset may have other types", c.Name, kind, list, c.Kind)
		}
		columns = append(columns, c)
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
	case c.Kind == Text && null:
		return c.null()
	case c.Kind == Text:
		return r.set(c.Name, cell{text: string(c.text[0])})
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
			return r.set(c.Name, cell{texts: texts})
		}
		if null = null || c.definition[0] < c.full; null {
			return errors.New("is a list with null, want a list of texts")
		}
	}
}
