// Package parquetfile opens Parquet files of any writer, damaged and hostile ones
// too. The Parquet library believes what a file claims: it panics, loops for ever
// or takes all memory where that is wrong. Here claims are checked before the
// library sees them.
package parquetfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/file"
)

// File is a file whose footer has been read.
type File struct {
	*file.Reader
	at     io.ReaderAt
	size   int64 // in bytes
	memory *pageMemory
}

// Open reads the footer of a file of so many bytes. Pages of more than maxPage
// bytes will be refused. It may panic, as all that reads a damaged file: see
// [Recover].
func Open(r parquet.ReaderAtSeeker, size int64, maxPage int) (*File, error) {
	if err := errors.Join(codecFault, checkEnds(r, size)); err != nil {
		return nil, err
	}
	if err := checkFooter(r, size); err != nil {
		return nil, fmt.Errorf("damaged Parquet file: %w", err)
	}
	memory := &pageMemory{maxPage: maxPage, left: math.MaxInt64}
	reader, err := file.NewParquetReader(r, file.WithReadProps(parquet.NewReaderProperties(memory)))
	if err != nil {
		return nil, fmt.Errorf("damaged Parquet file: %w", err)
	}
	return &File{Reader: reader, at: r, size: size, memory: memory}, nil
}

// Allow lets the pages that are read from now on have so many bytes together, and
// refuses those that claim more. Without it they may have any number, each no more
// than maxPage.
func (f *File) Allow(bytes int64) { f.memory.allowed, f.memory.left = bytes, bytes }

// Recover, deferred, turns a panic of the Parquet library into an error that begins
// with where.
func Recover(where string, err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%s: damaged Parquet file: %v", where, r)
	}
}

// Footer is the key-values of the file.
func (f *File) Footer() map[string]string {
	keyValues := f.MetaData().KeyValueMetadata()
	footer := make(map[string]string, keyValues.Len())
	for i, key := range keyValues.Keys() {
		footer[key] = keyValues.Values()[i]
	}
	return footer
}

// Column opens column i of a row group and tells how many values the file claims
// for it, nulls and empty lists among them. It reads a page at a time, and nothing
// of other columns.
func (f *File) Column(group *file.RowGroupReader, i int) (reader file.ColumnChunkReader, values int64, err error) {
	chunk, err := group.MetaData().ColumnChunk(i)
	if err != nil {
		return nil, 0, err
	}
	if chunk.CryptoMetadata() != nil {
		return nil, 0, errors.New("encrypted columns cannot be read")
	}
	column := group.MetaData().Schema.Column(i)
	if column.MaxDefinitionLevel() > maxLevel || column.MaxRepetitionLevel() > 1 {
		return nil, 0, errors.New("lists of lists and deeper nested columns cannot be read")
	}
	from, length := chunk.DataPageOffset(), chunk.TotalCompressedSize()
	if chunk.HasDictionaryPage() && chunk.DictionaryPageOffset() > 0 {
		from = min(from, chunk.DictionaryPageOffset())
	}
	if from < 0 || from > f.size || length < 0 || length > f.size-from {
		return nil, 0, fmt.Errorf("damaged Parquet file: the column claims %d bytes at %d of a file of %d", length, from, f.size)
	}
	stream := newPageStream(io.NewSectionReader(f.at, from, length), length)
	pages, err := file.NewPageReader(stream, chunk.NumValues(), chunk.Compression(), f.memory, nil)
	if err != nil {
		return nil, 0, err
	}
	pages.SetMaxPageHeaderSize(maxHeaderBytes)
	checked := &checkedPages{PageReader: pages, column: column, left: chunk.NumValues()}
	return file.NewColumnReader(column, checked, f.memory, nil), chunk.NumValues(), nil
}

// IsParquet reports whether data begins as a Parquet file does.
func IsParquet(data []byte) bool { return bytes.HasPrefix(data, magic) }

var magic = []byte("PAR1")

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
		return errors.New("the file is empty, expected Parquet")
	case !IsParquet(head):
		return errors.New("not a Parquet file (it does not begin with PAR1)")
	case size < 12 || !bytes.HasSuffix(tail, magic):
		return errors.New("truncated Parquet file (it does not end with PAR1)")
	}
	if length := int64(binary.LittleEndian.Uint32(tail)); length > size-12 {
		return fmt.Errorf("damaged Parquet file: its footer claims %d bytes of %d", length, size)
	}
	return nil
}
