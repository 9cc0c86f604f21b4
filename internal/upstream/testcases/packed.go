package testcases

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zlib"
)

// packed is the pickle of a string, compressed by zlib, in base64, while it is read.
type packed struct {
	base64   *bufio.Reader // what is compressed
	inflated *bufio.Reader // the pickle
	pickle   pickle
	text     io.Reader // the string, to be read first
}

// unpack reads what stands before the string.
func unpack(in *bufio.Reader) (*packed, error) {
	p := &packed{base64: bufio.NewReader(&base64Reader{in: in})}
	inflate, err := zlib.NewReader(p.base64)
	if err != nil {
		return nil, fmt.Errorf("neither a JSON list nor one that is packed: %w", err)
	}
	p.inflated = bufio.NewReaderSize(inflate, 1<<16)
	if p.pickle, err = readPickle(p.inflated); err != nil {
		return nil, err
	}
	p.text = &whole{io.LimitedReader{R: p.inflated, N: p.pickle.length}}
	return p, nil
}

// end reads what stands after the string: the rest of the pickle, the checksum of
// the compression, and nothing else.
func (p *packed) end() error {
	if err := p.pickle.end(p.inflated); err != nil {
		return err
	}
	switch _, err := p.base64.ReadByte(); err {
	case io.EOF:
		return nil
	case nil:
		return errors.New("something follows the compressed tests")
	default:
		return err
	}
}

// whole reads so many bytes, and is unhappy with fewer.
type whole struct{ io.LimitedReader }

func (w *whole) Read(p []byte) (int, error) {
	n, err := w.LimitedReader.Read(p)
	if err == io.EOF && w.N > 0 {
		err = errPickle
	}
	return n, err
}
