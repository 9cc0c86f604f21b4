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
	return &File{Reader: reader, at: r, size: size, memory: memory}, nil
}

// Allow lets the pages that are read from now on have the given bytes together, and refuses
// pages that claim more. Without it they may have any number, each no more than maxPage.
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
	maxPage       int
	allowed, left int64 // bytes of all pages
}

func (m *pageMemory) Allocate(size int) []byte {
	if size < 0 || size > m.maxPage {
		panic(fmt.Sprintf("a page claims %d bytes, at most %d can be read", size, m.maxPage))
	}
	if m.left -= int64(size); m.left < 0 {
		panic(fmt.Sprintf("pages claim more than the %d MiB that can be read of them", m.allowed>>20))
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
var codecFault = errors.Join(keepZstd(), readLZ4(), bound(compress.Codecs.Snappy), bound(compress.Codecs.Gzip), bound(compress.Codecs.Brotli))

// Codecs puts codecs in place that keep to the size which a page claims, and a
// zstd one that keeps its memory, for all readers and writers of this program. It
// is the error of that.
func Codecs() error { return codecFault }

// keptZstd compresses with one encoder, which keeps its memory: the Parquet
// package would make a new one, of megabytes, for every page. The bytes are the
// same. It decompresses no more than a page claims, whatever a frame claims.
type keptZstd struct {
	compress.Codec
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

// keepZstd registers the codec. The level is the only one at which this program
// writes files.
func keepZstd() error {
	standard, err := compress.GetCodec(compress.Codecs.Zstd)
	if err != nil {
		return err
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithZeroFrames(true), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return err
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(math.MaxInt32))
	if err != nil {
		return err
	}
	compress.RegisterCodec(compress.Codecs.Zstd, keptZstd{standard, encoder, decoder})
	return nil
}

// EncodeLevel compresses src; the level is always the encoder's.
func (z keptZstd) EncodeLevel(dst, src []byte, _ int) []byte {
	return z.encoder.EncodeAll(src, dst[:0])
}

// Decode decompresses src into the memory of dst. A panic is how the Parquet
// package wants errors.
func (z keptZstd) Decode(dst, src []byte) []byte {
	dst, err := z.decoder.DecodeAll(src, dst[:0])
	if err != nil {
		panic(err)
	}
	return dst
}

// rawLZ4 decompresses LZ4_RAW, which DuckDB, Polars and pyarrow write for "lz4", and the
// Parquet package does not know. Nothing is written by it.
type rawLZ4 struct{ compress.Codec }

func readLZ4() error {
	const code = 7 // of LZ4_RAW in the format
	compress.RegisterCodec(compress.Compression(code), rawLZ4{})
	return nil
}

// Decode decompresses src into dst, which is as long as the page claims to be.
func (rawLZ4) Decode(dst, src []byte) []byte {
	n, err := lz4.UncompressBlock(src, dst)
	if err != nil {
		panic(err)
	}
	return dst[:n]
}

// bounded decompresses no more than the page claims.
type bounded struct {
	compress.Codec
	snappy bool // it makes room for what the data claims, in a varint at their beginning
}

// bound puts a bounded codec in the place of the library's.
func bound(algorithm compress.Compression) error {
	standard, err := compress.GetCodec(algorithm)
	if err != nil {
		return err
	}
	compress.RegisterCodec(algorithm, bounded{standard, algorithm == compress.Codecs.Snappy})
	return nil
}

// Decode decompresses src into dst, which is as long as the page claims to be.
func (b bounded) Decode(dst, src []byte) []byte {
	if len(dst) == 0 {
		return dst // without room the library would decompress everything
	}
	if claimed, _ := binary.Uvarint(src); b.snappy && claimed > uint64(len(dst)) {
		panic(fmt.Sprintf("a page of %d bytes claims %d", len(dst), claimed))
	}
	return b.Codec.Decode(dst, src)
}
