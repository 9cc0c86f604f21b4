package benchmark

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// longestTests bounds the private tests of one task, in bytes once they are
// decompressed. The largest ones published have some tens of megabytes.
const longestTests = 1 << 30

// DecodeTests reads the tests of a task as LiveCodeBench publishes them, the
// public ones before the private ones. public is a JSON list; private is one,
// too, or such a list as a pickled string, compressed by zlib, in base64; and
// metadata is a JSON object that names the function of functional tests. Either
// list may be empty or "", but not both. Tests that break the rules of a task
// file are refused, functional ones without a function among them.
func DecodeTests(public, private, metadata string) ([]Test, error) {
	var about struct {
		Function string `json:"func_name"`
	}
	if strings.TrimSpace(metadata) != "" {
		if err := json.Unmarshal([]byte(metadata), &about); err != nil {
			return nil, fmt.Errorf("metadata: %w", err)
		}
	}
	tests, err := upstreamTests([]byte(public), about.Function)
	if err != nil {
		return nil, fmt.Errorf("public tests: %w", err)
	}
	list, err := unpack(private)
	if err != nil {
		return nil, fmt.Errorf("private tests: %w", err)
	}
	hidden, err := upstreamTests(list, about.Function)
	if err != nil {
		return nil, fmt.Errorf("private tests: %w", err)
	}
	tests = append(tests, hidden...)
	if len(tests) == 0 {
		return nil, errors.New("there are no tests, neither public nor private ones")
	}
	faults := newFaults("tests")
	checkTests(tests, "", faults)
	return tests, faults.err()
}

// upstreamTests reads a JSON list of tests in the words of LiveCodeBench.
func upstreamTests(list []byte, function string) ([]Test, error) {
	if len(bytes.TrimSpace(list)) == 0 {
		return nil, nil
	}
	if !utf8.Valid(list) {
		return nil, errors.New("they are not valid UTF-8")
	}
	var records []struct {
		Input, Output *string
		TestType      string
	}
	if err := json.Unmarshal(list, &records); err != nil {
		return nil, err
	}
	tests := make([]Test, len(records))
	for i, r := range records {
		if r.Input == nil || r.Output == nil {
			return nil, fmt.Errorf("test %d lacks its input or output", i+1)
		}
		tests[i] = Test{Input: *r.Input, Output: *r.Output}
		switch r.TestType {
		case "stdin":
			tests[i].Kind = "stdin"
		case "functional":
			tests[i].Kind, tests[i].Function = "function", function
		default:
			return nil, fmt.Errorf("test %d is of the type %.40q, must be stdin or functional", i+1, r.TestType)
		}
	}
	return tests, nil
}

// unpack gives the JSON list of private tests.
func unpack(private string) ([]byte, error) {
	private = strings.TrimSpace(private)
	if private == "" || private[0] == '[' {
		return []byte(private), nil
	}
	compressed, err := base64.StdEncoding.DecodeString(private)
	if err != nil {
		return nil, fmt.Errorf("neither a JSON list nor base64: %w", err)
	}
	source := bytes.NewReader(compressed)
	inflated, err := zlib.NewReader(source)
	if err != nil {
		return nil, err
	}
	defer inflated.Close()
	pickled, err := io.ReadAll(io.LimitReader(inflated, longestTests+1))
	switch {
	case err != nil:
		return nil, err
	case len(pickled) > longestTests:
		return nil, fmt.Errorf("they are longer than %d bytes", longestTests)
	case source.Len() > 0:
		return nil, errors.New("something follows the compressed tests")
	}
	return unpickle(pickled)
}

var errPickle = errors.New("not the pickle of one string: nothing else is read, for it could run programs")

// unpickle reads a pickle of protocol 2, 3 or 4 that holds one string and
// nothing else.
func unpickle(data []byte) ([]byte, error) {
	if len(data) < 2 || data[0] != 0x80 || data[1] < 2 || data[1] > 4 {
		return nil, errPickle
	}
	protocol, rest := data[1], data[2:]
	if protocol == 4 && len(rest) >= 9 && rest[0] == 0x95 { // a frame: all that follows
		if binary.LittleEndian.Uint64(rest[1:]) != uint64(len(rest)-9) {
			return nil, errPickle
		}
		rest = rest[9:]
	}
	text, rest, ok := pickledString(rest, protocol)
	if !ok || !endsPickle(rest, protocol) {
		return nil, errPickle
	}
	return text, nil
}

// pickledString reads the opcode of a string with its length, and the string.
func pickledString(data []byte, protocol byte) (text, rest []byte, ok bool) {
	width := 0 // of the length, in bytes
	switch {
	case len(data) == 0:
		return nil, nil, false
	case data[0] == 'X':
		width = 4
	case data[0] == 0x8c && protocol == 4:
		width = 1
	case data[0] == 0x8d && protocol == 4:
		width = 8
	}
	if width == 0 || len(data) < 1+width {
		return nil, nil, false
	}
	var length [8]byte
	copy(length[:], data[1:1+width])
	n, rest := binary.LittleEndian.Uint64(length[:]), data[1+width:]
	if n > uint64(len(rest)) {
		return nil, nil, false
	}
	return rest[:n], rest[n:], true
}

// endsPickle tells whether all that is left is to keep the string in the memo,
// as every pickler does though nothing asks for it, and to stop.
func endsPickle(rest []byte, protocol byte) bool {
	switch string(rest) {
	case ".", "q\x00.", "r\x00\x00\x00\x00.":
		return true
	case "\x94.":
		return protocol == 4
	}
	return false
}
