// Package rowfile keeps typed rows in Parquet files, the form in which the
// stages of the pipeline meet.
//
// A row is a struct whose exported fields carry `parquet:"name"` tags. A struct
// embedded in it without a tag stands for its own fields, and a field with the tag
// "-" for none; columns are flat.
// Field types are string, bool, int32, int64, float64 and time.Time, which is a
// moment to the microsecond and comes back in UTC; a pointer to one of
// them is an optional column, nil meaning null, and with the option "maybe" in its tag,
// `parquet:"name,maybe"`, one that a file may lack as well. Files are written with zstd,
// dictionary-encoded strings and plain numbers, and the same rows and footer
// give the same bytes. Columns are read by name, so that files of other
// writers (pyarrow, DuckDB, Polars) and files with further columns can be
// read too; whatever is wrong with a file is an error that names it.
package rowfile

import (
	"bytes"
	"fmt"
	"os"

	"speceval/internal/inputfile"
	"speceval/internal/parquetfile"

	"github.com/apache/arrow/go/v17/parquet"
)

// ReadFile reads the rows and the footer key-values of the file at path, which take at
// most 2 GiB, as do the pages that they are read of.
func ReadFile[T any](path string) (rows []T, footer map[string]string, err error) {
	f, size, err := openSized(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	return decode[T](f, size, path, storedBytes)
}

// ReadFooter reads only the number of rows and the footer key-values of the
// file at path.
func ReadFooter(path string) (rows int64, footer map[string]string, err error) {
	defer parquetfile.Recover(path, &err)
	f, size, err := openSized(path)
	if err != nil {
		return 0, nil, err
	}
	defer f.Close()
	parsed, err := parquetfile.Open(f, size, maxPageBytes)
	if err != nil {
		return 0, nil, fmt.Errorf("%s: %w", path, err)
	}
	return parsed.NumRows(), parsed.Footer(), nil
}

// openSized opens the file at path and tells its size in bytes.
func openSized(path string) (*os.File, int64, error) {
	f, err := inputfile.Open(path, inputfile.Rows)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// IsParquet reports whether data begins as a Parquet file does.
func IsParquet(data []byte) bool { return parquetfile.IsParquet(data) }

// Decode reads the rows and the footer key-values of a Parquet file held in
// memory; name is what errors call it. Errors name the file, the column and,
// where one is at fault, the 1-based row. Damaged and hostile files give
// errors too: a panic of the Parquet library is turned into one here. Rows and their
// texts take at most 128 MiB, and so do the pages that they are read of.
func Decode[T any](data []byte, name string) (rows []T, footer map[string]string, err error) {
	return decode[T](bytes.NewReader(data), int64(len(data)), name, givenBytes)
}

func decode[T any](r parquet.ReaderAtSeeker, size int64, name string, most int64) (rows []T, footer map[string]string, err error) {
	defer parquetfile.Recover(name, &err)
	f, sources, err := openRows[T](r, size, name)
	if err != nil {
		return nil, nil, err
	}
	f.Allow(most)
	room := newRoom(most)
	for i := range f.NumRowGroups() {
		g, err := openGroup(f, i, maxRows-int64(len(rows)), room)
		if err == nil {
			rows, err = readGroup(g, sources, rows, len(rows))
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return rows, f.Footer(), nil
}
