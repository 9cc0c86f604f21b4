package testcases

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// longest bounds the tests of a task, in bytes once they are inflated. The largest
// ones published have some tens of megabytes.
const longest = 1 << 30

var errPickle = errors.New("not the pickle of one string: nothing else is read, for it could run programs")

// pickle is one of protocol 2, 3 or 4 that holds one string and nothing else:
//
//	0x80 protocol                    2, 3 or 4
//	0x95 length in 8 bytes           of protocol 4, may be missing: a frame, of all that follows
//	'X' length in 4 bytes, string    or of protocol 4: 0x8c and 1 byte, or 0x8d and 8 bytes
//	'q' 0, or 'r' 0 0 0 0            keeps it in the memo, which nothing asks for: may be missing;
//	                                 or of protocol 4: 0x94
//	'.'                              the end
//
// Numbers are little-endian, and strings are in UTF-8.
type pickle struct {
	protocol byte
	frame    int   // bytes in it after the string; negative without a frame
	length   int64 // of the string
}

// readPickle reads what stands before the string.
func readPickle(r *bufio.Reader) (p pickle, err error) {
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return p, cut(err)
	}
	if head[0] != 0x80 || head[1] < 2 || head[1] > 4 {
		return p, errPickle
	}
	p.protocol, p.frame = head[1], -1
	opcode, err := r.ReadByte()
	var frame uint64
	framed := err == nil && opcode == 0x95 && p.protocol == 4
	if framed {
		if frame, err = number(r, 8); err == nil {
			opcode, err = r.ReadByte()
		}
	}
	if err != nil {
		return p, cut(err)
	}
	width := p.width(opcode)
	if width == 0 {
		return p, errPickle
	}
	length, err := number(r, width)
	if err != nil {
		return p, err
	}
	if length > longest {
		return p, fmt.Errorf("the tests have %d bytes, more than %d", length, longest)
	}
	p.length = int64(length)
	if framed {
		before := uint64(1+width) + length
		if frame <= before || frame > before+uint64(longestEnd) {
			return p, errPickle
		}
		p.frame = int(frame - before)
	}
	return p, nil
}

// width is how many bytes tell the length of a string, by its opcode; 0 for other
// opcodes.
func (p *pickle) width(opcode byte) int {
	switch {
	case opcode == 'X':
		return 4
	case opcode == 0x8c && p.protocol == 4:
		return 1
	case opcode == 0x8d && p.protocol == 4:
		return 8
	}
	return 0
}

// number reads one of so many bytes.
func number(r io.Reader, width int) (uint64, error) {
	var b [8]byte
	_, err := io.ReadFull(r, b[:width])
	return binary.LittleEndian.Uint64(b[:]), cut(err)
}

// longestEnd is how many bytes can follow the string.
const longestEnd = len("r\x00\x00\x00\x00.")

// end reads what stands after the string.
func (p *pickle) end(r io.Reader) error {
	rest, err := io.ReadAll(io.LimitReader(r, int64(longestEnd)+1))
	if err != nil {
		return err
	}
	switch string(rest) {
	case ".", "q\x00.", "r\x00\x00\x00\x00.":
	case "\x94.":
		if p.protocol != 4 {
			return errPickle
		}
	default:
		return errPickle
	}
	if p.frame >= 0 && p.frame != len(rest) {
		return errPickle
	}
	return nil
}

// cut is the error of a pickle that ends too early, other errors as they are.
func cut(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errPickle
	}
	return err
}
