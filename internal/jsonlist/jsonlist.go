// Package jsonlist reads JSON lists of objects whose values are texts, one object
// at a time: however long a list is, one of them is in memory.
package jsonlist

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Longest is how long an object may be, in bytes of its JSON.
const Longest = 64 << 20

// Read calls each for every object of the list in r, i from 0 on. The map is valid
// until each returns; an error of each ends the reading and is returned as it is.
//
// The reading is strict: an object has no other keys than these and none twice, a
// value is a text in valid UTF-8 without half of a surrogate pair, and nothing
// follows the list. What is wrong with an object is only known when those before it
// are read. If there is nothing at all the error is io.EOF.
func Read(r io.Reader, keys []string, each func(i int, object map[string]string) error) error {
	l := newList(r, keys)
	open, err := l.decoder.ReadToken()
	if err != nil {
		return l.fault(err)
	}
	if open.Kind() != '[' {
		return fmt.Errorf("must be a list, is %s", Kind(open.Kind()))
	}
	for i := 0; l.more(); i++ {
		if err := l.object(); err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
		if err := each(i, l.members); err != nil {
			return err
		}
	}
	return l.end()
}

// list is one that is being read.
type list struct {
	source  *window
	decoder *jsontext.Decoder
	keys    []string
	members map[string]string // of the object that was read last
	text    []byte            // what texts are made of, kept for the next one
}

func newList(r io.Reader, keys []string) *list {
	source := &window{reader: r, end: Longest}
	return &list{source: source, decoder: jsontext.NewDecoder(source, jsontext.AllowDuplicateNames(true)), keys: keys, members: make(map[string]string)}
}

// more reports whether the list goes on, be it with a fault.
func (l *list) more() bool {
	l.source.end = l.decoder.InputOffset() + Longest
	return l.decoder.PeekKind() != ']'
}

// object reads the next one.
func (l *list) object() error {
	open, err := l.decoder.ReadToken()
	if err != nil {
		return l.fault(err)
	}
	if open.Kind() != '{' {
		return fmt.Errorf("must be an object, is %s", Kind(open.Kind()))
	}
	clear(l.members)
	for l.decoder.PeekKind() != '}' {
		key, err := l.decoder.ReadToken()
		if err != nil {
			return l.fault(err)
		}
		if err := l.member(key.String()); err != nil {
			return err
		}
	}
	if _, err := l.decoder.ReadToken(); err != nil {
		return l.fault(err)
	}
	return nil
}

// member reads the value of a key.
func (l *list) member(key string) error {
	if !slices.Contains(l.keys, key) {
		return fmt.Errorf("%.40q is none of the keys %s", key, strings.Join(l.keys, ", "))
	}
	if _, again := l.members[key]; again {
		return fmt.Errorf("%s: is there twice", key)
	}
	if kind := l.decoder.PeekKind(); kind != '"' && kind != 0 {
		return fmt.Errorf("%s: must be a text, is %s", key, Kind(kind))
	}
	value, err := l.decoder.ReadValue()
	if err == nil {
		l.text, err = jsontext.AppendUnquote(l.text[:0], value)
	}
	if err != nil {
		return l.fault(err)
	}
	l.members[key] = string(l.text)
	return nil
}

// end reads the end of the list, and returns an error if anything follows.
func (l *list) end() error {
	if _, err := l.decoder.ReadToken(); err != nil {
		return l.fault(err)
	}
	if _, err := l.decoder.ReadToken(); err == io.EOF {
		return nil
	}
	if fault := l.source.fault(); fault != nil {
		return fault
	}
	return errors.New("more follows after its end")
}

// fault is the fault of the reading if there was one, or else err, the decoder's.
func (l *list) fault(err error) error {
	if fault := l.source.fault(); fault != nil {
		return fault
	}
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		return fmt.Errorf("byte %d: %w", syntax.ByteOffset, syntax.Err)
	}
	return err
}

// window lets through what is before a place, which is moved along.
type window struct {
	reader    io.Reader
	read, end int64
	err       error // the last one
}

func (w *window) Read(p []byte) (int, error) {
	if w.read >= w.end {
		w.err = fmt.Errorf("is longer than %d MiB", Longest>>20)
		return 0, w.err
	}
	var n int
	n, w.err = w.reader.Read(p[:min(int64(len(p)), w.end-w.read)])
	w.read += int64(n)
	return n, w.err
}

// fault is the fault of the last reading.
func (w *window) fault() error {
	if w.err == io.EOF {
		return nil
	}
	return w.err
}

// Kind names a kind of JSON value in a message: "an object", "null".
func Kind(k jsontext.Kind) string {
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
