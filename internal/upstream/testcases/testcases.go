// Package testcases reads the tests of programs as LiveCodeBench publishes them: a
// JSON list, or one that is packed, as a stream.
package testcases

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"speceval/internal/benchmark"
	"speceval/internal/jsonlist"
)

// Read calls each for every test of a list, in order. text is the list as JSON,
// with input, output and testtype of every test; or that as the pickle of a string,
// compressed by zlib, in base64; or empty. function is what functional tests call.
//
// The reading is strict, and holds one test at a time. What is wrong with a list
// may only be known when its tests were passed on: after an error they are worth
// nothing. An error of each ends the reading and is returned as it is.
func Read(text io.Reader, function string, each func(benchmark.Test) error) error {
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
