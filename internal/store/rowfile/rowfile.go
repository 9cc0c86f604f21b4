// Package rowfile keeps typed rows in Parquet files, the form in which the
// stages of the pipeline meet.
//
// A row is a struct whose exported fields carry `parquet:"name"` tags. A struct
// embedded in it without a tag stands for its own fields, and a field with the tag
// "-" for none; columns are flat.
// Field types are string, bool, int32, int64 and float64; a pointer to one of them is an
// optional column, nil meaning null. A column with the option "maybe" in its tag,
// `parquet:"name,maybe"`, is one that a file may lack. Files are written with zstd,
// dictionary-encoded strings and plain numbers, and the same rows and footer
// give the same bytes. Columns are read by name, so that files of other
// writers (pyarrow, DuckDB, Polars) and files with further columns can be
// read too; whatever is wrong with a file is an error that names it.
package rowfile

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"iter"
	"maps"
	"reflect"
	"slices"

	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/metadata"

	"speceval/internal/store/parquetfile"
)

// ReadFile reads the rows and the footer key-values of the file at path.
func ReadFile[T any](path string) (rows []T, footer map[string]string, err error) {
	r, err := Open[T](path)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	return r.all()
}

// ReadFooter reads only the number of rows and the footer key-values of the
// file at path.
func ReadFooter(path string) (rows int64, footer map[string]string, err error) {
	r, err := Open[struct{}](path)
	if err != nil {
		return 0, nil, err
	}
	defer r.Close()
	return r.file.NumRows(), r.Footer(), nil
}

// IsParquet reports whether data begins as a Parquet file does.
func IsParquet(data []byte) bool { return parquetfile.IsParquet(data) }

// Decode reads the rows and the footer key-values of a Parquet file held in memory; name is
// the file's name in errors. Errors name the file, the column and, where one is at fault,
// the 1-based row. Damaged and hostile files give errors too: a panic of the Parquet library
// is turned into one here.
func Decode[T any](data []byte, name string) (rows []T, footer map[string]string, err error) {
	r, err := newReader[T](bytes.NewReader(data), int64(len(data)), name)
	if err != nil {
		return nil, nil, err
	}
	return r.all()
}

// rowGroupRows is the number of rows of a row group, DuckDB's own default.
const rowGroupRows = 122_880

// valuesBetweenChecks is how many values the library writes before it looks
// whether a page is full. Of long texts its usual 1024 would make pages that
// are larger than all that reads them likes.
const valuesBetweenChecks = 64

// Write writes rows as one Parquet file with the given footer key-values. The
// bytes depend on the rows and the footer alone. An error leaves w with part
// of a file: write to a temporary file and rename it.
func Write[T any](w io.Writer, rows []T, footer map[string]string) error {
	return WriteGroups(w, func(yield func([]T, error) bool) {
		for group := range slices.Chunk(rows, rowGroupRows) {
			if !yield(group, nil) {
				return
			}
		}
	}, footer)
}

// WriteGroups writes a file of more rows than fit in memory, a row group at a time; an error
// among them ends it. Readers are quickest with groups of some hundred thousand rows, or of
// some ten megabytes where rows are long.
func WriteGroups[T any](w io.Writer, groups iter.Seq2[[]T, error], footer map[string]string) error {
	parquetfile.Codecs()
	columns, err := columnsOf(reflect.TypeFor[T]())
	if err != nil {
		return err
	}
	root, err := schemaOf(columns)
	if err != nil {
		return err
	}
	keyValues := metadata.NewKeyValueMetadata()
	for _, key := range slices.Sorted(maps.Keys(footer)) { // the bytes must not depend on a map
		if err := keyValues.Append(key, footer[key]); err != nil {
			return fmt.Errorf("write parquet footer: %w", err)
		}
	}
	// The library does not report every error of a writer, and closes what it can: a buffer
	// keeps the first error, and cannot be closed.
	buffer := bufio.NewWriter(w)
	begin := func(rows []T) *file.Writer { // the first rows decide which columns have a dictionary
		return file.NewParquetWriter(buffer, root, file.WithWriterProps(writerProperties(columns, reflect.ValueOf(rows))), file.WithWriteMetadata(keyValues))
	}
	var out *file.Writer
	for rows, err := range groups {
		if err == nil && out == nil {
			out = begin(rows)
		}
		if err == nil {
			err = guarded(func() error { return writeGroup(out, columns, reflect.ValueOf(rows)) })
		}
		if err != nil {
			return err
		}
	}
	if out == nil {
		out = begin(nil)
	}
	if err := guarded(out.Close); err != nil {
		return fmt.Errorf("write parquet: %w", err)
	}
	return buffer.Flush()
}

// writeGroup writes rows as one row group.
func writeGroup(out *file.Writer, columns []column, rows reflect.Value) error {
	group := out.AppendRowGroup()
	for _, c := range columns {
		chunk, err := group.NextColumn()
		if err == nil {
			err = c.codec.write(chunk, rows, c)
		}
		if err != nil {
			return fmt.Errorf("write column %s: %w", c.name, err)
		}
	}
	return group.Close()
}

// guarded turns a panic of the Parquet library into an error.
func guarded(do func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("write parquet: %v", r)
		}
	}()
	return do()
}

// writerProperties chooses the encodings of columns for a file that begins with these rows. A
// column never changes its encoding midway: the library then lists the two in the order of a
// map, which differs from run to run.
func writerProperties(columns []column, rows reflect.Value) *parquet.WriterProperties {
	properties := []parquet.WriterProperty{
		parquet.WithCompression(compress.Codecs.Zstd),
		parquet.WithCompressionLevel(1), // the next level takes four times the time and memory on a small file
		parquet.WithDictionaryDefault(false),
		parquet.WithDictionaryPageSizeLimit(maxPageBytes),
		parquet.WithBatchSize(valuesBetweenChecks),
	}
	for _, c := range columns {
		properties = append(properties, parquet.WithDictionaryFor(c.name, c.repeats(rows)))
	}
	return parquet.NewWriterProperties(properties...)
}
