package testcases

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
)

// base64Reader decodes base64 in its strict form (RFC 4648, section 3.5): nothing
// but the alphabet, so no line breaks, padding at the end alone, and unused bits
// zero. White space may follow. The decoder of the standard library takes line
// breaks anywhere, and padding where its buffer happens to end.
type base64Reader struct {
	in   *bufio.Reader // with room for a piece
	data [piece / 4 * 3]byte
	left []byte // of data
	read int64  // characters
	last bool
}

func (b *base64Reader) Read(p []byte) (int, error) {
	for len(b.left) == 0 {
		if b.last {
			return 0, io.EOF
		}
		if err := b.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, b.left)
	b.left = b.left[n:]
	return n, nil
}

// piece is how many characters are decoded at once, a multiple of four.
const piece = 4 << 10

// fill decodes a piece.
func (b *base64Reader) fill() error {
	text, err := b.in.Peek(piece)
	if err != nil && err != io.EOF {
		return err
	}
	kept := bytes.TrimRight(text, " \t\r\n")
	b.last = err == io.EOF || len(kept) < len(text) || text[len(text)-1] == '='
	if at := bytes.IndexAny(kept, "\r\n"); at >= 0 {
		return fmt.Errorf("base64: a line break at character %d", b.read+int64(at))
	}
	n, err := base64.StdEncoding.Strict().Decode(b.data[:], kept)
	if err != nil {
		return fmt.Errorf("base64: after character %d: %w", b.read, err)
	}
	b.left = b.data[:n]
	b.read += int64(len(kept))
	if _, err := b.in.Discard(len(text)); err != nil || !b.last {
		return err
	}
	switch _, err := begin(b.in); err {
	case io.EOF:
		return nil
	case nil:
		return fmt.Errorf("base64: after character %d: something follows the end", b.read)
	default:
		return err
	}
}
