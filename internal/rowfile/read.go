package rowfile

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/schema"
)

// Limits on what a file may claim, far above any file of ours: they keep a
// damaged or hostile file from taking all memory.
const (
	maxRows        = 1 << 26 // eight times the paper's whole corpus of responses
	maxPageBytes   = 1 << 26
	maxHeaderBytes = 1 << 16
)

// MissingColumnError says that a file lacks a column of the row struct.
type MissingColumnError struct{ Column string }

func (e *MissingColumnError) Error() string {
	return fmt.Sprintf("column %s is missing", e.Column)
}

// source is a column of a row struct as it stands in one file.
type source struct {
	column
	index    int  // of the column in the file
	nullable bool // the file may hold nulls, whether the struct may or not
}

// locate finds every column of the struct in the file's schema, by name.
func locate(file *schema.Schema, columns []column) ([]source, error) {
	sources := make([]source, len(columns))
	for i, c := range columns {
		index := file.ColumnIndexByName(c.name)
		if index < 0 {
			return nil, &MissingColumnError{Column: c.name}
		}
		found := file.Column(index)
		codecs := codecsFor(c.kind)
		match := slices.IndexFunc(codecs, func(k codec) bool { return k.physical() == found.PhysicalType() })
		if match < 0 || !plainType(found) {
			return nil, fmt.Errorf("column %s has type %s %s, want %s", c.name,
				found.PhysicalType(), found.LogicalType(), c.codec.physical())
		}
		c.codec = codecs[match]
		sources[i] = source{column: c, index: index, nullable: found.MaxDefinitionLevel() > 0}
	}
	return sources, nil
}

// plainType reports whether the values of a column mean what their physical
// type says: not a list, not nested, not a decimal or a time.
func plainType(c *schema.Column) bool {
	if c.MaxRepetitionLevel() > 0 || c.MaxDefinitionLevel() > 1 {
		return false
	}
	switch c.LogicalType().(type) {
	case schema.NoLogicalType, schema.StringLogicalType, schema.IntLogicalType, *schema.IntLogicalType, schema.UnknownLogicalType:
		return true
	}
	return false
}

// readGroup appends the rows of a row group to rows.
func readGroup[T any](data []byte, group *file.RowGroupReader, sources []source, rows []T) ([]T, error) {
	before, count := len(rows), group.NumRows()
	if count < 0 || count > maxRows-int64(before) {
		return nil, fmt.Errorf("damaged Parquet file: a row group claims %d rows, at most %d can be read", count, maxRows)
	}
	for i, s := range sources {
		values, err := readChunk(data, group, s, int(count))
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", s.name, err)
		}
		if i == 0 { // only now is it known that the rows are there
			rows = append(rows, make([]T, count)...)
		}
		added := reflect.ValueOf(rows[before:])
		if at, err := values.store(added, s.column); err != nil {
			return nil, fmt.Errorf("column %s, row %d: %w", s.name, before+at+1, err)
		}
	}
	return rows, nil
}

// readChunk decodes one column of a row group, count values with the nulls.
func readChunk(data []byte, group *file.RowGroupReader, s source, count int) (values, error) {
	chunk, err := group.MetaData().ColumnChunk(s.index)
	if err != nil {
		return nil, err
	}
	if chunk.CryptoMetadata() != nil {
		return nil, fmt.Errorf("encrypted columns cannot be read")
	}
	if chunk.NumValues() != int64(count) {
		return nil, fmt.Errorf("damaged Parquet file: %d values in a row group of %d rows", chunk.NumValues(), count)
	}
	from, length := chunk.DataPageOffset(), chunk.TotalCompressedSize()
	if chunk.HasDictionaryPage() && chunk.DictionaryPageOffset() > 0 {
		from = min(from, chunk.DictionaryPageOffset())
	}
	if size := int64(len(data)); from < 0 || from > size || length < 0 || length > size-from {
		return nil, fmt.Errorf("damaged Parquet file: the column claims %d bytes at %d of a file of %d", length, from, size)
	}
	pages, err := file.NewPageReader(newPageStream(data[from:from+length]), int64(count), chunk.Compression(), pageMemory{}, nil)
	if err != nil {
		return nil, err
	}
	pages.SetMaxPageHeaderSize(maxHeaderBytes)
	checked := &checkedPages{PageReader: pages, nullable: s.nullable, left: int64(count)}
	return s.codec.read(checked, group.MetaData().Schema.Column(s.index), count)
}
