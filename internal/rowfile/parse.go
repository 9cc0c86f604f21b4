package rowfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"reflect"

	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/file"
)

// parquetFile is a file whose footer has been read.
type parquetFile struct {
	*file.Reader
	at   io.ReaderAt
	size int64
}

// openRows reads the footer of a file and finds the columns of T in it. Errors
// name the file.
func openRows[T any](r parquet.ReaderAtSeeker, size int64, name string) (*parquetFile, []source, error) {
	columns, err := columnsOf(reflect.TypeFor[T]())
	if err != nil {
		return nil, nil, err
	}
	f, err := parse(r, size)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	sources, err := locate(f.MetaData().Schema, columns)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, sources, nil
}

// parse reads the footer of a file of so many bytes.
func parse(r parquet.ReaderAtSeeker, size int64) (*parquetFile, error) {
	if err := checkEnds(r, size); err != nil {
		return nil, err
	}
	reader, err := file.NewParquetReader(r, file.WithReadProps(parquet.NewReaderProperties(pageMemory{})))
	if err != nil {
		return nil, fmt.Errorf("damaged Parquet file: %w", err)
	}
	return &parquetFile{Reader: reader, at: r, size: size}, nil
}

// footer is the key-values of the file.
func (f *parquetFile) footer() map[string]string {
	keyValues := f.MetaData().KeyValueMetadata()
	footer := make(map[string]string, keyValues.Len())
	for i, key := range keyValues.Keys() {
		footer[key] = keyValues.Values()[i]
	}
	return footer
}

// checkEnds checks what stands at the ends of a file: PAR1 at both, and before
// the last one the length of the footer.
func checkEnds(r io.ReaderAt, size int64) error {
	head, tail := make([]byte, min(size, 12)), make([]byte, min(size, 8))
	if _, err := r.ReadAt(head, 0); err != nil && size > 0 {
		return err
	}
	if _, err := r.ReadAt(tail, size-int64(len(tail))); err != nil && size > 0 {
		return err
	}
	switch {
	case size == 0:
		return fmt.Errorf("the file is empty, expected Parquet")
	case !IsParquet(head):
		return fmt.Errorf("not a Parquet file (it does not begin with PAR1)")
	case size < 12 || !bytes.HasSuffix(tail, magic):
		return fmt.Errorf("truncated Parquet file (it does not end with PAR1)")
	}
	if length := int64(binary.LittleEndian.Uint32(tail)); length > size-12 {
		return fmt.Errorf("damaged Parquet file: its footer claims %d bytes of %d", length, size)
	}
	return nil
}
