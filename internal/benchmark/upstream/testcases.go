package upstream

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zlib"

	"speceval/internal/benchmark"
)

// publishedTest is a test as LiveCodeBench publishes it.
type publishedTest struct {
	Input  *string `json:"input"`
	Output *string `json:"output"`
	Kind   string  `json:"testtype"`
}

// ReadTestCases calls each for every test of a list, in order, as LiveCodeBench publishes
// them. text is the list as JSON, with input, output and testtype of every test; or the
// pickle of such a text, compressed by zlib, in base64; or empty. function is the name of
// the function that functional tests call.
//
// One test is in memory at a time, of at most 64 MiB. A fault of the packing may be
// known after the last test. An error of each ends the reading.
func ReadTestCases(text io.Reader, function string, each func(benchmark.Test) error) error {
	in := bufio.NewReader(text)
	list := func(text io.Reader) error {
		err := benchmark.ReadObjects(text, func(i int, test publishedTest) error {
			if test.Input == nil || test.Output == nil {
				return fmt.Errorf("item %d: lacks its input or output", i)
			}
			made := benchmark.Test{Kind: "stdin", Input: *test.Input, Output: *test.Output}
			switch test.Kind {
			case "stdin":
			case "functional":
				made.Kind, made.Function = "function", function
			default:
				return fmt.Errorf("item %d: its testtype is %.40q, must be stdin or functional", i, test.Kind)
			}
			return each(made)
		})
		if err == io.EOF { // an empty text
			return nil
		}
		return err
	}
	first, err := in.Peek(1)
	if err == io.EOF || err == nil && first[0] == '[' {
		return list(in)
	}
	inflated, err := zlib.NewReader(base64.NewDecoder(base64.StdEncoding, in))
	if err != nil {
		return fmt.Errorf("neither a JSON list nor one in zlib and base64: %w", err)
	}
	pickle := bufio.NewReader(inflated)
	length, err := openPickle(pickle)
	if err != nil {
		return err
	}
	if err := list(io.LimitReader(pickle, length)); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, pickle) // to the checksum
	return err
}

// openPickle reads what stands before the text of a pickle of one text, and returns the
// text's length in bytes. Any other pickle is refused: it could run programs.
func openPickle(r *bufio.Reader) (int64, error) {
	for {
		opcode, err := r.ReadByte()
		if err != nil {
			return 0, fmt.Errorf("a pickle that is cut off: %w", err)
		}
		width, known := map[byte]int{0x80: 1, 0x95: 8, 'X': 4, 0x8c: 1, 0x8d: 8}[opcode] // PROTO, FRAME, texts
		if !known {
			return 0, errors.New("not the pickle of one text")
		}
		var number [8]byte
		if _, err := io.ReadFull(r, number[:width]); err != nil {
			return 0, fmt.Errorf("a pickle that is cut off: %w", err)
		}
		if opcode != 0x80 && opcode != 0x95 {
			return int64(binary.LittleEndian.Uint64(number[:])), nil
		}
	}
}
