// A pullReader reads JSON that others wrote and that may be hostile: a value at
// a time, in memory that does not depend on how long the text is. What is not wanted is
// passed over unseen.

package harness

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// longestString is how long one text, key or number may be, in bytes of its JSON.
const longestString = 16 << 20

// longestKey is how long the keys of an object may be whose values are looked at, in bytes.
const longestKey = 4 << 10

// deepest is how deeply lists and objects may lie in one another.
const deepest = 200

// pullReader reads JSON values one after another. Python's NaN, Infinity and -Infinity are
// read as null. All errors of its methods are about the text, with the byte where it
// is at fault; after the first one nothing more can be read.
type pullReader struct {
	source  *window
	decoder *jsontext.Decoder
}

// newPullReader reads what r has.
func newPullReader(r io.Reader) *pullReader {
	source := &window{reader: &plain{reader: r}, end: longestString}
	return &pullReader{source, jsontext.NewDecoder(source, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
}

// Kind is the kind of the next value: one of { [ " 0 n t f, ] and } at the end of a list
// and an object, and 0 at the end of the text or where the text is at fault.
func (r *pullReader) Kind() jsontext.Kind {
	r.source.end = r.decoder.InputOffset() + longestString
	return r.decoder.PeekKind()
}

// Object calls each with every key of an object, in its order; each reads the value, or
// skips it. An error of each is returned as it is.
func (r *pullReader) Object(each func(key string) error) error {
	if err := r.open('{', "an object"); err != nil {
		return err
	}
	for r.Kind() != '}' {
		key, err := r.Text()
		if err != nil {
			return err
		}
		if len(key) > longestKey {
			return fmt.Errorf("byte %d: the key %.40q… is longer than %d bytes", r.decoder.InputOffset(), key, longestKey)
		}
		if err := each(key); err != nil {
			return err
		}
	}
	_, err := r.token()
	return err
}

// List calls each for every element of a list, as Object does.
func (r *pullReader) List(each func(i int) error) error {
	if err := r.open('[', "a list"); err != nil {
		return err
	}
	for i := 0; r.Kind() != ']'; i++ {
		if err := each(i); err != nil {
			return err
		}
	}
	_, err := r.token()
	return err
}

func (r *pullReader) open(kind jsontext.Kind, name string) error {
	if is := r.Kind(); is != kind && is != 0 {
		return fmt.Errorf("byte %d: want %s, have %s", r.decoder.InputOffset(), name, kindName(is))
	}
	if r.decoder.StackDepth() >= deepest {
		return fmt.Errorf("byte %d: lists and objects are nested more than %d deep", r.decoder.InputOffset(), deepest)
	}
	_, err := r.token()
	if err == io.EOF {
		return fmt.Errorf("the text ends where %s is wanted", name)
	}
	return err
}

// Text is the next value, which must be a text in UTF-8.
func (r *pullReader) Text() (string, error) {
	if is := r.Kind(); is != '"' && is != 0 {
		return "", fmt.Errorf("byte %d: want a text, have %s", r.decoder.InputOffset(), kindName(is))
	}
	before := r.decoder.InputOffset()
	token, err := r.token()
	if err != nil {
		return "", err
	}
	text := token.String()
	if strings.ContainsRune(text, utf8.RuneError) {
		return "", fmt.Errorf("byte %d: %.40q is not UTF-8", before, text)
	}
	return text, nil
}

// scalar is a value that is no list and no object.
type scalar struct {
	Kind   jsontext.Kind // " 0 n t f
	Text   string        // of a text, and the digits of a number
	Number float64       // of a number
}

// Scalar is the next value. Of a list or an object only the kind is known, and it is
// skipped.
func (r *pullReader) Scalar() (s scalar, err error) {
	switch s.Kind = r.Kind(); s.Kind {
	case '{', '[':
		return s, r.Skip()
	case '"':
		s.Text, err = r.Text()
		return s, err
	}
	token, err := r.token()
	if err != nil {
		return s, err
	}
	if s.Kind == '0' {
		s.Text = token.String()
		s.Number, err = strconv.ParseFloat(s.Text, 64)
		if err != nil {
			return s, fmt.Errorf("byte %d: the number %.40s is too large", r.decoder.InputOffset(), s.Text)
		}
	}
	return s, nil
}

// Word is a scalar as a text, "" if it is null, a list or an object.
func (r *pullReader) Word() (string, error) {
	s, err := r.Scalar()
	switch s.Kind {
	case 't', 'f':
		return strconv.FormatBool(s.Kind == 't'), err
	}
	return s.Text, err
}

// Skip passes over the next value.
func (r *pullReader) Skip() error {
	return r.Walk(func(string) {})
}

// Walk passes over the next value and calls each with every key and text in it.
func (r *pullReader) Walk(each func(text string)) error {
	for depth := 0; ; {
		kind := r.Kind()
		if r.decoder.StackDepth() > deepest {
			return fmt.Errorf("byte %d: lists and objects are nested more than %d deep", r.decoder.InputOffset(), deepest)
		}
		token, err := r.token()
		if err != nil {
			return err
		}
		switch kind {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			each(token.String())
		}
		if depth <= 0 {
			return nil
		}
	}
}

// More reports whether another value follows.
func (r *pullReader) More() bool {
	if r.Kind() != 0 {
		return true
	}
	_, err := r.token()
	return err != io.EOF
}

// End is an error if anything follows.
func (r *pullReader) End() error {
	if r.More() {
		return fmt.Errorf("byte %d: more follows after the end", r.decoder.InputOffset())
	}
	return nil
}

func (r *pullReader) token() (jsontext.Token, error) {
	r.source.end = r.decoder.InputOffset() + longestString
	token, err := r.decoder.ReadToken()
	if err == nil {
		return token, nil
	}
	if r.source.err != nil && r.source.err != io.EOF {
		return token, r.source.err
	}
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return token, fmt.Errorf("byte %d: the text is cut short", r.decoder.InputOffset())
	case errors.As(err, &syntax):
		return token, fmt.Errorf("byte %d: not JSON: %w", syntax.ByteOffset, syntax.Err)
	}
	return token, err
}

// kindName is what a kind of JSON value is called.
func kindName(k jsontext.Kind) string {
	switch k {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a text"
	case '0':
		return "a number"
	case '}', ']':
		return "the end"
	}
	return k.String() // null, true, false
}

// window lets through what is before a place, which is moved along.
type window struct {
	reader    io.Reader
	read, end int64
	err       error // the last one
}

func (w *window) Read(p []byte) (int, error) {
	if w.read >= w.end {
		w.err = fmt.Errorf("byte %d: a text or number is longer than %d MiB", w.read, longestString>>20)
		return 0, w.err
	}
	var n int
	n, w.err = w.reader.Read(p[:min(int64(len(p)), w.end-w.read)])
	w.read += int64(n)
	return n, w.err
}
