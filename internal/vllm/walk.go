package vllm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// walker reads a JSON text from front to back, into what its callers choose.
// The library reads the tokens, strictly: half a character, as bytes or as an
// escape, is an error and not mended. Filling a struct by reflection would take
// a fifth of the time of a stream. The first fault sticks and ends all reading.
type walker struct {
	decoder jsontext.Decoder
	source  bytes.Buffer
	err     error
}

// start begins with another text, which must stay as it is.
func (w *walker) start(data []byte) {
	w.source = *bytes.NewBuffer(data)
	w.decoder.Reset(&w.source, jsontext.AllowDuplicateNames(true))
	w.err = nil
}

func (w *walker) fail(err error) {
	if w.err == nil && err != nil {
		w.err = err
	}
}

// end checks that nothing follows.
func (w *walker) end() error {
	if w.err != nil {
		return w.err
	}
	switch _, err := w.decoder.ReadToken(); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	}
	return errors.New("text after the end")
}

// next is the kind of the value that comes: one of n f t " 0 { [, and 0 after a
// fault.
func (w *walker) next() jsontext.Kind {
	if w.err != nil {
		return 0
	}
	return w.decoder.PeekKind()
}

// token reads one, and checks its kind.
func (w *walker) token(want jsontext.Kind) jsontext.Token {
	if w.err != nil {
		return jsontext.Token{}
	}
	token, err := w.decoder.ReadToken()
	if err == nil && token.Kind() != want {
		err = fmt.Errorf("%s at %s, want %s", token.Kind(), w.decoder.StackPointer(), want)
	}
	if err != nil {
		w.fail(err)
		return jsontext.Token{}
	}
	return token
}

// raw reads any value and returns its bytes, which are valid until the next.
func (w *walker) raw() jsontext.Value {
	if w.err != nil {
		return nil
	}
	value, err := w.decoder.ReadValue()
	if err != nil {
		w.fail(err)
	}
	return value
}

func (w *walker) skip() {
	if w.err == nil {
		w.fail(w.decoder.SkipValue())
	}
}

// null reads a null if one comes.
func (w *walker) null() bool {
	if w.next() != 'n' {
		return false
	}
	w.token('n')
	return true
}

// fields reads an object; read must read the value of the name that it gets, in
// quotes and valid until then. A null has no fields.
func (w *walker) fields(read func(name jsontext.Value)) {
	if w.null() {
		return
	}
	for w.token('{'); w.next() == '"'; {
		read(w.raw())
	}
	w.token('}')
}

// items reads an array; read must read each item. A null has no items.
func (w *walker) items(read func(i int)) {
	if w.null() {
		return
	}
	w.token('[')
	for i := 0; w.err == nil && w.next() != ']'; i++ {
		read(i)
	}
	w.token(']')
}

// ids reads ids of tokens behind what has room for them; more than most are a fault.
func (w *walker) ids(into *[]int32, most int) {
	w.items(func(int) {
		if len(*into) >= most {
			w.fail(fmt.Errorf("ids of more than %d tokens", most))
			return
		}
		*into = append(*into, int32(w.whole()))
	})
}

// name reads a string or a null that is kept as a name, which may not be long.
func (w *walker) name(into *string) {
	if w.next() == '"' {
		if raw := w.raw(); len(raw) > longestName {
			w.fail(fmt.Errorf("a name of %d bytes at %s", len(raw), w.decoder.StackPointer()))
		} else if w.err == nil {
			var room [64]byte // for most
			name, err := jsontext.AppendUnquote(room[:0], raw)
			w.fail(err)
			*into = string(name)
		}
		return
	}
	w.text(into)
}

// text reads a string or a null into what has room for it.
func (w *walker) text(into *string) {
	if w.null() {
		return
	}
	*into = w.token('"').String()
}

// count reads an integer of 32 bits, or a null as -1.
func (w *walker) count() int {
	if w.null() {
		return -1
	}
	return w.whole()
}

// whole reads an integer of 32 bits.
func (w *walker) whole() int {
	digits := w.raw()
	n, err := strconv.ParseInt(string(digits), 10, 32)
	if err != nil {
		w.fail(fmt.Errorf("%s at %s is no integer of 32 bits", digits, w.decoder.StackPointer()))
	}
	return int(n)
}
