package parquetfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/klauspost/compress/zstd"
)

// codecFault is why the codecs below could not be put in the place of the Parquet
// package's own, before anything reads or writes.
var codecFault = errors.Join(keepZstd(), bound(compress.Codecs.Snappy), bound(compress.Codecs.Gzip), bound(compress.Codecs.Brotli))

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

// EncodeLevel compresses src; the level is always that of the encoder.
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
