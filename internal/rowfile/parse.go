package rowfile

import (
	"fmt"
	"reflect"

	"github.com/apache/arrow/go/v17/parquet"

	"speceval/internal/parquetfile"
)

// openRows reads the footer of a file and finds the columns of T in it. Errors
// name the file.
func openRows[T any](r parquet.ReaderAtSeeker, size int64, name string) (*parquetfile.File, []source, error) {
	columns, err := columnsOf(reflect.TypeFor[T]())
	if err != nil {
		return nil, nil, err
	}
	f, err := parquetfile.Open(r, size, maxPageBytes)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	sources, err := locate(f.MetaData().Schema, columns)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, sources, nil
}
