// ReadTestCases reads the tests of programs as LiveCodeBench publishes them: a
// JSON list, or one that is packed, as a stream.

package upstream

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zlib"

	"speceval/internal/benchmark"
	"speceval/internal/jsonlist"
)

// ReadTestCases calls each for every test of a list, in order. text is the list as JSON,
// with input, output and testtype of every test; or that as the pickle of a string,
// compressed by zlib, in base64; or empty. function is what functional tests call.
//
// The reading is strict, and holds one test at a time. What is wrong with a list
// may only be known when its tests were passed on: after an error they are worth
// nothing. An error of each ends the reading and is returned as it is.
func ReadTestCases(text io.Reader, function string, each func(benchmark.Test) error) error {
	in := bufio.NewReaderSize(text, 1<<16)
	switch first, err := begin(in); {
	case err == io.EOF:
		return nil
	case err != nil:
		return err
	case first == '[':
		return list(in, function, each)
	}
	packed, err := unpack(in)
	if err != nil {
		return err
	}
	if err := list(packed.text, function, each); err != nil {
		return err
	}
	return packed.end()
}

// begin passes over white space, and gives what follows without taking it.
func begin(in *bufio.Reader) (byte, error) {
	for {
		c, err := in.ReadByte()
		if err != nil {
			return 0, err
		}
		if !blank(c) {
			return c, in.UnreadByte()
		}
	}
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// list reads tests as a JSON list, or nothing at all.
func list(text io.Reader, function string, each func(benchmark.Test) error) error {
	err := jsonlist.Read(text, []string{"input", "output", "testtype"}, func(i int, members map[string]string) error {
		test, err := testOf(members, function)
		if err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
		return each(test)
	})
	if err == io.EOF {
		return nil
	}
	return err
}

func testOf(members map[string]string, function string) (benchmark.Test, error) {
	input, hasInput := members["input"]
	output, hasOutput := members["output"]
	if !hasInput || !hasOutput {
		return benchmark.Test{}, errors.New("lacks its input or output")
	}
	switch kind := members["testtype"]; kind {
	case "stdin":
		return benchmark.Test{Kind: "stdin", Input: input, Output: output}, nil
	case "functional":
		return benchmark.Test{Kind: "function", Function: function, Input: input, Output: output}, nil
	default:
		return benchmark.Test{}, fmt.Errorf("its testtype is %.40q, must be stdin or functional", kind)
	}
}

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
	p.text = &wholeText{io.LimitedReader{R: p.inflated, N: p.pickle.length}}
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

// wholeText reads so many bytes; fewer are an error.
type wholeText struct{ io.LimitedReader }

func (w *wholeText) Read(p []byte) (int, error) {
	n, err := w.LimitedReader.Read(p)
	if err == io.EOF && w.N > 0 {
		err = errPickle
	}
	return n, err
}

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
