package rowfile

import (
	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/klauspost/compress/zstd"
)

// keptZstd compresses with one encoder, which keeps its memory: the Parquet
// package would make a new one, of megabytes, for every page. The bytes are the
// same. It decompresses no more than a page may have, whatever a frame claims.
type keptZstd struct {
	compress.Codec
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

// zstdFault is why keptZstd could not be put in the place of the Parquet
// package's codec, before anything reads or writes.
var zstdFault = keepZstd()

// keepZstd registers the codec. The level is the one that writerProperties asks
// for: no file of this program is written at another.
func keepZstd() error {
	standard, err := compress.GetCodec(compress.Codecs.Zstd)
	if err != nil {
		return err
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithZeroFrames(true), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return err
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxPageBytes))
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
