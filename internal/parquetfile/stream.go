package parquetfile

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// maxHeaderBytes is how long the header of a page may be.
const maxHeaderBytes = 1 << 16

// pageStream gives the library the bytes of a column. It looks at every page
// header first, since the library makes room for whatever size a header
// claims.
type pageStream struct {
	*bufio.Reader
	rest *io.LimitedReader // bytes that the buffer has not taken yet
}

func newPageStream(column io.Reader, length int64) *pageStream {
	rest := &io.LimitedReader{R: column, N: length}
	return &pageStream{Reader: bufio.NewReaderSize(rest, maxHeaderBytes), rest: rest}
}

// Peek is what the library reads a page header with, and nothing else.
func (s *pageStream) Peek(n int) ([]byte, error) {
	view, err := s.Reader.Peek(n)
	if len(view) == 0 {
		return view, err
	}
	left := int64(s.Buffered()) + s.rest.N
	size, ok := compressedSize(view)
	if !ok || size > left {
		return nil, fmt.Errorf("a page claims %d bytes where %d are left", size, left)
	}
	return view, err
}

// compressedSize reads a page header, in Thrift's compact protocol, as far as
// its third field: type, uncompressed_page_size and compressed_page_size, all
// of them 32-bit integers.
func compressedSize(header []byte) (size int64, ok bool) {
	const nextInt32 = 0x15 // the field after the last one, an i32
	for range 3 {
		if len(header) == 0 || header[0] != nextInt32 {
			return 0, false
		}
		value, n := binary.Varint(header[1:])
		if n <= 0 {
			return 0, false
		}
		size, header = value, header[1+n:]
	}
	return size, true
}

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
