package rowfile

import (
	"fmt"
	"io"
	"os"

	"speceval/internal/parquetfile"
)

// Reader reads a file of more rows than fit in memory, a row group at a time.
// It reads nothing but the footer and the columns of T.
type Reader[T any] struct {
	path    string
	disk    *os.File
	file    *parquetfile.File
	sources []source
	group   int // the next one
	rows    int // before it
}

// Open opens the file at path and reads its footer. Its errors and those of
// Next are like those of [Decode]; rows are counted over the whole file. Close
// ends it.
func Open[T any](path string) (*Reader[T], error) {
	disk, size, err := openSized(path)
	if err != nil {
		return nil, err
	}
	r := &Reader[T]{path: path, disk: disk}
	if err := r.open(size); err != nil {
		disk.Close()
		return nil, err
	}
	return r, nil
}

func (r *Reader[T]) open(size int64) (err error) {
	defer parquetfile.Recover(r.path, &err)
	r.file, r.sources, err = openRows[T](r.disk, size, r.path)
	return err
}

// Footer is the key-values of the file.
func (r *Reader[T]) Footer() map[string]string { return r.file.Footer() }

// Next reads the next row group, into memory of its own. After the last one
// the error is io.EOF.
func (r *Reader[T]) Next() (rows []T, err error) {
	defer parquetfile.Recover(r.path, &err)
	if r.group == r.file.NumRowGroups() {
		return nil, io.EOF
	}
	r.file.Allow(storedBytes)
	g, err := openGroup(r.file, r.group, maxGroupRows, newRoom(storedBytes))
	if err == nil {
		rows, err = readGroup(g, r.sources, rows, r.rows)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.path, err)
	}
	r.group++
	r.rows += len(rows)
	return rows, nil
}

// Close closes the file.
func (r *Reader[T]) Close() error { return r.disk.Close() }
