package benchmark

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

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
// The reading is strict: an object has no other keys than these and none twice, a value is a
// text in valid UTF-8, and nothing follows the list. If there is nothing at all the error is
// io.EOF.
func ReadObjects(r io.Reader, keys []string, each func(i int, object map[string]string) error) error {
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
		object, err := readObject(d, keys)
		if err != nil {
			return fmt.Errorf("item %d: %w", i, shortened(err))
		}
		if err := each(i, object); err != nil {
			return err
		}
	}
	if err == nil {
		_, err = d.ReadToken()
	}
	if err != nil {
		return shortened(err)
	}
	_, err = d.ReadToken()
	switch syntax := (*jsontext.SyntacticError)(nil); {
	case err == io.EOF:
		return nil
	case err == nil || errors.As(err, &syntax):
		return errors.New("more follows after its end")
	}
	return shortened(err)
}

// readObject reads an object whose values are texts by these keys.
func readObject(d *jsontext.Decoder, keys []string) (map[string]string, error) {
	if kind := d.PeekKind(); kind != '{' && kind != 0 {
		return nil, fmt.Errorf("must be an object, is %s", kindOf(kind))
	}
	var values map[string]jsontext.Value
	if err := json.UnmarshalDecode(d, &values); err != nil {
		return nil, err
	}
	texts := make(map[string]string, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		value := values[key]
		if !slices.Contains(keys, key) {
			return nil, fmt.Errorf("%.40q is none of the keys %s", key, strings.Join(keys, ", "))
		}
		if value.Kind() != '"' {
			return nil, fmt.Errorf("%s: must be a text, is %s", key, kindOf(value.Kind()))
		}
		text, _ := jsontext.AppendUnquote(nil, value) // of a value that was read, so that it cannot fail
		texts[key] = string(text)
	}
	return texts, nil
}

// shortened is an error of the decoder as a person reads it.
func shortened(err error) error {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, errLong):
		return errLong
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntax):
		return fmt.Errorf("%s: is there twice", syntax.JSONPointer.LastToken())
	case errors.As(err, &syntax):
		return fmt.Errorf("byte %d: %w", syntax.ByteOffset, syntax.Err)
	}
	return err
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
