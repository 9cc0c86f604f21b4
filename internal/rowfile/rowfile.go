// Package rowfile keeps typed rows in Parquet files, the form in which the
// stages of the pipeline meet.
//
// A row is a struct whose exported fields carry `parquet:"name"` tags. A struct
// embedded in it without a tag stands for its own fields; columns are flat.
// Field types are string, bool, int32, int64 and float64; a pointer to one of
// them is an optional column, nil meaning null. Files are written with zstd,
// dictionary-encoded strings and plain numbers, and the same rows and footer
// give the same bytes. Columns are read by name, so that files of other
// writers (pyarrow, DuckDB, Polars) and files with further columns can be
// read too; whatever is wrong with a file is an error that names it.
package rowfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"reflect"

	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/metadata"
)

// ReadFile reads the rows and the footer key-values of the file at path.
func ReadFile[T any](path string) ([]T, map[string]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	return Decode[T](data, path)
}

// ReadFooter reads only the number of rows and the footer key-values of the
// file at path.
func ReadFooter(path string) (rows int64, footer map[string]string, err error) {
	defer func() {
		if r := recover(); r != nil {
			rows, footer, err = 0, nil, fmt.Errorf("%s: damaged Parquet file: %v", path, r)
		}
	}()
	f, err := os.Open(path)
	if err != nil {
		return 0, nil, err
	}
	defer f.Close()
	if err := checkEnds(f); err != nil {
		return 0, nil, fmt.Errorf("%s: %w", path, err)
	}
	reader, err := file.NewParquetReader(f, file.WithReadProps(parquet.NewReaderProperties(pageMemory{})))
	if err != nil {
		return 0, nil, fmt.Errorf("%s: damaged Parquet file: %w", path, err)
	}
	return reader.NumRows(), footerMap(reader.MetaData().KeyValueMetadata()), nil
}

// checkEnds is checkFrame for a file on disk.
func checkEnds(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	const end = 8 // length of the footer and PAR1
	size := info.Size()
	head, tail := make([]byte, min(size, 12)), make([]byte, min(size, end))
	if _, err := f.ReadAt(head, 0); err != nil {
		return err
	}
	if _, err := f.ReadAt(tail, size-int64(len(tail))); err != nil {
		return err
	}
	if err := checkFrame(append(head, tail...)); err != nil {
		return err
	}
	if length := int64(binary.LittleEndian.Uint32(tail)); length > size-2*int64(len(magic))-4 {
		return fmt.Errorf("damaged Parquet file: its footer claims %d bytes of %d", length, size)
	}
	return nil
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
