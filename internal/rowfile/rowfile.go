// Package rowfile keeps typed rows in Parquet files, the form in which the
// stages of the pipeline meet.
//
// A row is a flat struct whose exported fields carry `parquet:"name"` tags.
// Field types are string, bool, int32, int64 and float64; a pointer to one of
// them is an optional column, nil meaning null. Files are written with zstd,
// dictionary-encoded strings and plain numbers, and the same rows and footer
// give the same bytes. Columns are read by name, so that files of other
// writers (pyarrow, DuckDB, Polars) and files with further columns can be
// read too; whatever is wrong with a file is an error that names it.
package rowfile

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"

	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/metadata"
)

// rowGroupRows is the number of rows of a row group, DuckDB's own default.
const rowGroupRows = 122_880

// Write writes rows as one Parquet file with the given footer key-values. The
// bytes depend on the rows and the footer alone. An error leaves w with part
// of a file: write to a temporary file and rename it.
func Write[T any](w io.Writer, rows []T, footer map[string]string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("write parquet: %v", r)
		}
	}()
	columns, err := columnsOf(reflect.TypeFor[T]())
	if err != nil {
		return err
	}
	root, err := schemaOf(columns)
	if err != nil {
		return err
	}
	keyValues, err := footerOf(footer)
	if err != nil {
		return err
	}
	sink := &sink{w: w}
	writer := file.NewParquetWriter(sink, root,
		file.WithWriterProps(writerProperties(columns)), file.WithWriteMetadata(keyValues))
	for group := range slices.Chunk(rows, rowGroupRows) {
		if err := writeGroup(writer, columns, reflect.ValueOf(group)); err != nil {
			return err
		}
	}
	if err := writer.Close(); err != nil {
		return fmt.Errorf("write parquet: %w", err)
	}
	return sink.err
}

func writeGroup(writer *file.Writer, columns []column, rows reflect.Value) error {
	group := writer.AppendRowGroup()
	for _, c := range columns {
		chunk, err := group.NextColumn()
		if err != nil {
			return fmt.Errorf("write column %s: %w", c.name, err)
		}
		if err := c.codec.write(chunk, rows, c); err != nil {
			return fmt.Errorf("write column %s: %w", c.name, err)
		}
	}
	return group.Close()
}

func writerProperties(columns []column) *parquet.WriterProperties {
	properties := []parquet.WriterProperty{
		parquet.WithCompression(compress.Codecs.Zstd),
		parquet.WithCompressionLevel(1), // the next level takes four times the time and memory on a small file
		parquet.WithDictionaryDefault(false),
	}
	for _, c := range columns {
		if c.kind == reflect.TypeFor[string]() {
			properties = append(properties, parquet.WithDictionaryFor(c.name, true))
		}
	}
	return parquet.NewWriterProperties(properties...)
}

// footerOf orders the key-values, so that the bytes do not depend on a map.
func footerOf(footer map[string]string) (metadata.KeyValueMetadata, error) {
	keyValues := metadata.NewKeyValueMetadata()
	for _, key := range slices.Sorted(maps.Keys(footer)) {
		if err := keyValues.Append(key, footer[key]); err != nil {
			return nil, fmt.Errorf("write parquet footer: %w", err)
		}
	}
	return keyValues, nil
}

// sink keeps the first error of w, which the library does not always report,
// and hides any Close method of w from it.
type sink struct {
	w   io.Writer
	err error
}

func (s *sink) Write(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.w.Write(p)
	s.err = err
	return n, err
}

// ReadFile reads the rows and the footer key-values of the file at path.
func ReadFile[T any](path string) ([]T, map[string]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	return Decode[T](data, path)
}

// IsParquet reports whether data begins as a Parquet file does.
func IsParquet(data []byte) bool { return bytes.HasPrefix(data, magic) }

var magic = []byte("PAR1")

// Decode reads the rows and the footer key-values of a Parquet file held in
// memory; name is what errors call it. Errors name the file, the column and,
// where one is at fault, the 1-based row. Damaged and hostile files give
// errors too: a panic of the Parquet library is turned into one here.
func Decode[T any](data []byte, name string) (rows []T, footer map[string]string, err error) {
	defer func() {
		if r := recover(); r != nil {
			rows, footer, err = nil, nil, fmt.Errorf("%s: damaged Parquet file: %v", name, r)
		}
	}()
	if err := checkFrame(data); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	columns, err := columnsOf(reflect.TypeFor[T]())
	if err != nil {
		return nil, nil, err
	}
	reader, err := file.NewParquetReader(bytes.NewReader(data),
		file.WithReadProps(parquet.NewReaderProperties(pageMemory{})))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: damaged Parquet file: %w", name, err)
	}
	sources, err := locate(reader.MetaData().Schema, columns)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	for g := range reader.NumRowGroups() {
		if rows, err = readGroup(data, reader.RowGroup(g), sources, rows); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return rows, footerMap(reader.MetaData().KeyValueMetadata()), nil
}

func checkFrame(data []byte) error {
	switch {
	case len(data) == 0:
		return fmt.Errorf("the file is empty, expected Parquet")
	case !IsParquet(data):
		return fmt.Errorf("not a Parquet file (it does not begin with PAR1)")
	case len(data) < 12 || !bytes.HasSuffix(data, magic):
		return fmt.Errorf("truncated Parquet file (it does not end with PAR1)")
	}
	return nil
}

func footerMap(keyValues metadata.KeyValueMetadata) map[string]string {
	footer := make(map[string]string, keyValues.Len())
	for i, key := range keyValues.Keys() {
		footer[key] = keyValues.Values()[i]
	}
	return footer
}
