package harness

import (
	"bytes"
	"io"
)

// plain makes JSON of what Python's json module writes: outside of texts, NaN, Infinity
// and -Infinity become null.
type plain struct {
	reader io.Reader
	input  []byte // read and not looked at
	buffer [16 << 10]byte
	made   []byte // looked at
	output []byte // what of it is not handed on yet
	inText bool
	escape bool // the last byte of a text was a backslash
	err    error
}

// constants are what Python writes for numbers that JSON does not have.
var constants = [][]byte{[]byte("NaN"), []byte("Infinity"), []byte("-Infinity")}

func (f *plain) Read(p []byte) (int, error) {
	for len(f.output) == 0 {
		if f.err != nil {
			return 0, f.err
		}
		f.fill()
	}
	n := copy(p, f.output)
	f.output = f.output[n:]
	return n, nil
}

// fill reads some more, and looks at it.
func (f *plain) fill() {
	kept := copy(f.buffer[:], f.input)
	n, err := f.reader.Read(f.buffer[kept:])
	f.input, f.err = f.buffer[:kept+n], err
	f.made = f.made[:0]
	defer func() { f.output = f.made }()
	for len(f.input) > 0 {
		if f.inText {
			f.text()
			continue
		}
		at := bytes.IndexAny(f.input, "\"NI-")
		if at < 0 {
			at = len(f.input)
		}
		f.take(at)
		if len(f.input) > 0 && !f.constant() {
			return
		}
	}
}

// take hands some bytes on.
func (f *plain) take(n int) {
	f.made = append(f.made, f.input[:n]...)
	f.input = f.input[n:]
}

// text hands on what is left of a text.
func (f *plain) text() {
	for i, c := range f.input {
		switch {
		case f.escape:
			f.escape = false
		case c == '\\':
			f.escape = true
		case c == '"':
			f.inText = false
			f.take(i + 1)
			return
		}
	}
	f.take(len(f.input))
}

// constant hands on a quotation mark, a constant as null, or another byte; false if
// more must be read to tell.
func (f *plain) constant() bool {
	if f.input[0] == '"' {
		f.inText = true
		f.take(1)
		return true
	}
	for _, c := range constants {
		if bytes.HasPrefix(f.input, c) {
			f.made = append(f.made, "null"...)
			f.input = f.input[len(c):]
			return true
		}
		if f.err == nil && bytes.HasPrefix(c, f.input) {
			return false
		}
	}
	f.take(1)
	return true
}
