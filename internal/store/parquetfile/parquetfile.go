// Package parquetfile opens Parquet files of any writer, damaged ones too. The Parquet
// library trusts the sizes and counts in a file: where they are wrong, it panics, loops
// for ever or takes all memory. This package bounds the size of the footer and of a page,
// and turns panics into errors.
package parquetfile

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// File is a file whose footer has been read.
type File struct {
	*file.Reader
	at     io.ReaderAt
	memory pageMemory
}

// Open reads the footer of a file of the given size in bytes. Pages of more than maxPage
// bytes will be refused. It may panic, as does all that reads a damaged file: see [Recover].
func Open(r parquet.ReaderAtSeeker, size int64, maxPage int) (*File, error) {
	Codecs()
	if err := checkEnds(r, size); err != nil {
		return nil, err
	}
	memory := pageMemory{maxPage}
	reader, err := file.NewParquetReader(r, file.WithReadProps(parquet.NewReaderProperties(memory)))
	if err != nil {
		return nil, fmt.Errorf("damaged Parquet file: %w", err)
	}
	return &File{Reader: reader, at: r, memory: memory}, nil
}

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
	stream := bufio.NewReaderSize(io.NewSectionReader(f.at, from, length), maxHeaderBytes)
	pages, err := file.NewPageReader(stream, chunk.NumValues(), chunk.Compression(), f.memory, nil)
	if err != nil {
		return nil, 0, err
	}
	pages.SetMaxPageHeaderSize(maxHeaderBytes)
	checked := &checkedPages{PageReader: pages, column: column, left: chunk.NumValues()}
	return file.NewColumnReader(column, checked, f.memory, nil), chunk.NumValues(), nil
}

// maxLevel is the definition level of a text in a list, where both may be null: 1 for a
// list, 2 for a place in it, 3 for a text there.
const maxLevel = 3

// IsParquet reports whether data begins as a Parquet file does.
func IsParquet(data []byte) bool { return bytes.HasPrefix(data, magic) }

var magic = []byte("PAR1")

// maxFooterBytes bounds the footer; the library takes some thirty times as much memory for
// it.
const maxFooterBytes = 8 << 20

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
	length := int64(binary.LittleEndian.Uint32(tail))
	if length > size-12 {
		return fmt.Errorf("damaged Parquet file: its footer claims %d bytes of %d", length, size)
	}
	if length > maxFooterBytes {
		return fmt.Errorf("its footer has %d bytes, at most %d can be read", length, maxFooterBytes)
	}
	return nil
}

// maxHeaderBytes is how long the header of a page may be.
const maxHeaderBytes = 1 << 16

// pageMemory allocates for the library and refuses pages of absurd size. The
// panic is turned into an error by all that reads.
type pageMemory struct{ maxPage int }

func (m pageMemory) Allocate(size int) []byte {
	if size < 0 || size > m.maxPage {
		panic(fmt.Sprintf("a page claims %d bytes, at most %d can be read", size, m.maxPage))
	}
	return make([]byte, size)
}

func (m pageMemory) Reallocate(size int, b []byte) []byte {
	if size <= cap(b) {
		return b[:size]
	}
	grown := m.Allocate(size)
	copy(grown, b)
	return grown
}

func (pageMemory) Free([]byte) {}

// codec is a codec of the Parquet package, or one in its place. A panic is how the package
// wants errors.
type codec struct {
	compress.Codec
	encode func(src, dst []byte) []byte // nil: the package's
	decode func(dst, src []byte) []byte
}

// Decode decompresses src into the memory of dst. A page without bytes may have no data.
func (c codec) Decode(dst, src []byte) []byte {
	if len(dst) == 0 {
		return dst
	}
	return c.decode(dst, src)
}

// EncodeLevel compresses src. The level of zstd is always the encoder's.
func (c codec) EncodeLevel(dst, src []byte, level int) []byte {
	if c.encode == nil {
		return c.Codec.EncodeLevel(dst, src, level)
	}
	return c.encode(src, dst[:0])
}

// must is a value that comes with no error.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Codecs puts codecs in the place of the package's, for all that reads and writes. Zstd has
// one encoder, which keeps its memory, at the only level at which this program writes: the
// package would make a new one, of megabytes, for every page. The bytes are the same. Its
// decoder keeps to the size that a page claims. LZ4_RAW, which DuckDB, Polars and pyarrow write
// for "lz4", is unknown to the package.
var Codecs = sync.OnceFunc(func() {
	for _, known := range []compress.Compression{compress.Codecs.Snappy, compress.Codecs.Gzip, compress.Codecs.Brotli} {
		standard := must(compress.GetCodec(known))
		compress.RegisterCodec(known, codec{Codec: standard, decode: func(dst, src []byte) []byte {
			if claimed, _ := binary.Uvarint(src); known == compress.Codecs.Snappy && claimed > uint64(len(dst)) {
				panic(errShortPage) // snappy would make room for all that its first bytes claim
			}
			return standard.Decode(dst, src)
		}})
	}
	encoder := must(zstd.NewWriter(nil, zstd.WithZeroFrames(true), zstd.WithEncoderLevel(zstd.SpeedFastest)))
	decoder := must(zstd.NewReader(nil, zstd.WithDecodeAllCapLimit(true)))
	compress.RegisterCodec(compress.Codecs.Zstd, codec{must(compress.GetCodec(compress.Codecs.Zstd)), encoder.EncodeAll, func(dst, src []byte) []byte {
		return must(decoder.DecodeAll(src, dst[:0]))
	}})
	const lz4Raw = 7 // in the format
	compress.RegisterCodec(lz4Raw, codec{decode: func(dst, src []byte) []byte { return dst[:must(lz4.UncompressBlock(src, dst))] }})
})
