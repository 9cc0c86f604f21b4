package benchmark

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// longestTest bounds a test, in bytes of its JSON.
const longestTest = 64 << 20

var errLong = fmt.Errorf("is longer than %d MiB", longestTest>>20)

// ReadObjects calls each for every object of the JSON list in r, i from 0 on. One of them is
// in memory at a time, of 64 MiB at most. An error of each ends the reading and is returned as
// it is.
//
// The reading is strict: an object has no other keys than the fields of T and none twice, a text
// is valid UTF-8, and nothing follows the list. If there is nothing at all the error is io.EOF.
func ReadObjects[T any](r io.Reader, each func(i int, object T) error) error {
	source := &window{Reader: r, end: longestTest}
	d := jsontext.NewDecoder(source)
	open, err := d.ReadToken()
	if err == nil && open.Kind() != '[' {
		return fmt.Errorf("must be a list, is %s", kindOf(open.Kind()))
	}
	for i := 0; err == nil; i++ {
		source.end = d.InputOffset() + longestTest
		if d.PeekKind() == ']' {
			break
		}
		var object T
		if err := json.UnmarshalDecode(d, &object, json.RejectUnknownMembers(true)); err != nil {
			return explained(err)
		}
		if err := each(i, object); err != nil {
			return err
		}
	}
	if err == nil {
		_, err = d.ReadToken()
	}
	if err != nil {
		return explained(err)
	}
	_, err = d.ReadToken()
	switch syntax := (*jsontext.SyntacticError)(nil); {
	case err == io.EOF:
		return nil
	case err == nil || errors.As(err, &syntax):
		return errors.New("more follows after its end")
	}
	return explained(err)
}

// window lets through what is before a place, which is moved along.
type window struct {
	io.Reader
	read, end int64
}

func (w *window) Read(p []byte) (int, error) {
	if w.read >= w.end {
		return 0, errLong
	}
	n, err := w.Reader.Read(p[:min(int64(len(p)), w.end-w.read)])
	w.read += int64(n)
	return n, err
}

// kindOf names a kind of JSON value in a message: "an object", "null".
func kindOf(k jsontext.Kind) string {
	switch k {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a text"
	case '0':
		return "a number"
	}
	return k.String() // null, true, false
}
