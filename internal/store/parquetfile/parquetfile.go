// Package parquetfile opens Parquet files of any writer, damaged ones too. The Parquet
// library trusts the sizes and counts in a file: where they are wrong, it panics, loops
// for ever or takes all memory. This package bounds the size of the footer, of a page and
// of a dictionary, and turns panics into errors.
package parquetfile

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

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
	size   int64 // in bytes
	memory *pageMemory
	rows   int64 // bytes that are left for what is made of the pages
}

// Open reads the footer of a file of the given size in bytes. Pages of more than maxPage
// bytes will be refused. It may panic, as does all that reads a damaged file: see [Recover].
func Open(r parquet.ReaderAtSeeker, size int64, maxPage int) (*File, error) {
	if err := errors.Join(codecFault, checkEnds(r, size)); err != nil {
		return nil, err
	}
	memory := &pageMemory{maxPage: maxPage, left: math.MaxInt64}
	reader, err := file.NewParquetReader(r, file.WithReadProps(parquet.NewReaderProperties(memory)))
	if err != nil {
		return nil, fmt.Errorf("damaged Parquet file: %w", err)
	}
	return &File{Reader: reader, at: r, size: size, memory: memory, rows: math.MaxInt64}, nil
}

// Allow lets the pages that are read from now on have the given bytes, and as many what is
// made of them. Without it they may have any number.
func (f *File) Allow(bytes int64) { f.rows, f.memory.left = bytes, bytes }

// Take takes the given bytes for each of count things that are made of the file. The error
// says that there is no memory left for them.
func (f *File) Take(count, bytes int64) error { return take(&f.rows, count, bytes) }

func take(left *int64, count, bytes int64) error {
	if count < 0 || bytes > 0 && count > *left/bytes {
		return errors.New("it takes more memory than may be used for one file")
	}
	*left -= count * bytes
	return nil
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
	if from < 0 || from > f.size || length < 0 || length > f.size-from {
		return nil, 0, fmt.Errorf("damaged Parquet file: the column claims %d bytes at %d of a file of %d", length, from, f.size)
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
type pageMemory struct {
	maxPage int
	left    int64 // bytes of all pages
}

func (m *pageMemory) Allocate(size int) []byte {
	if size < 0 || size > m.maxPage {
		panic(fmt.Sprintf("a page claims %d bytes, at most %d can be read", size, m.maxPage))
	}
	if err := take(&m.left, 1, int64(size)); err != nil {
		panic(err)
	}
	return make([]byte, size)
}

func (m *pageMemory) Reallocate(size int, b []byte) []byte {
	if size <= cap(b) {
		return b[:size]
	}
	grown := m.Allocate(size)
	copy(grown, b)
	return grown
}

func (*pageMemory) Free([]byte) {}

// codecFault is why the codecs below could not be put in the place of the Parquet
// package's own, before anything reads or writes.
var codecFault = register()

// Codecs puts codecs in place that keep to the size which a page claims, and a
// zstd one that keeps its memory, for all readers and writers of this program. It
// is the error of that.
func Codecs() error { return codecFault }

// codec decompresses no more than a page claims, for which dst has room. A panic is how the
// Parquet package wants errors.
type codec struct {
	compress.Codec
	encode func(src, dst []byte) []byte // nil: the package's
	decode func(dst, src []byte) ([]byte, error)
}

// Decode decompresses src into the memory of dst.
func (c codec) Decode(dst, src []byte) []byte {
	if len(dst) == 0 {
		return dst // without room the library would decompress everything
	}
	dst, err := c.decode(dst, src)
	if err != nil {
		panic(err)
	}
	return dst
}

// EncodeLevel compresses src. The level of zstd is always the encoder's.
func (c codec) EncodeLevel(dst, src []byte, level int) []byte {
	if c.encode == nil {
		return c.Codec.EncodeLevel(dst, src, level)
	}
	return c.encode(src, dst[:0])
}

// register registers the codecs. Zstd compresses with one encoder, which keeps its memory,
// at the only level at which this program writes: the Parquet package would make a new one,
// of megabytes, for every page. The bytes are the same. LZ4_RAW, which DuckDB, Polars and
// pyarrow write for "lz4", is unknown to the package.
func register() error {
	encoder, err := zstd.NewWriter(nil, zstd.WithZeroFrames(true), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return err
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(math.MaxInt32))
	if err != nil {
		return err
	}
	for _, algorithm := range []compress.Compression{compress.Codecs.Zstd, compress.Codecs.Snappy, compress.Codecs.Gzip, compress.Codecs.Brotli} {
		standard, err := compress.GetCodec(algorithm)
		if err != nil {
			return err
		}
		c := codec{Codec: standard, decode: func(dst, src []byte) ([]byte, error) { return standard.Decode(dst, src), nil }}
		switch algorithm {
		case compress.Codecs.Zstd:
			c.encode = encoder.EncodeAll
			c.decode = func(dst, src []byte) ([]byte, error) { return decoder.DecodeAll(src, dst[:0]) }
		case compress.Codecs.Snappy: // it makes room for what the data claims, in a varint at its beginning
			c.decode = func(dst, src []byte) ([]byte, error) {
				if claimed, _ := binary.Uvarint(src); claimed > uint64(len(dst)) {
					return nil, fmt.Errorf("a page of %d bytes claims %d", len(dst), claimed)
				}
				return standard.Decode(dst, src), nil
			}
		}
		compress.RegisterCodec(algorithm, c)
	}
	const lz4Raw = 7 // in the format
	compress.RegisterCodec(lz4Raw, codec{decode: func(dst, src []byte) ([]byte, error) {
		n, err := lz4.UncompressBlock(src, dst)
		return dst[:max(0, n)], err
	}})
	return nil
}
