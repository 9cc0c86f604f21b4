package logs

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"speceval/internal/jsonlist"
	"speceval/internal/store/files"
)

const (
	headBytes = 64 << 10 // by which a format is recognised
	maxText   = 64 << 20 // bytes of one text, or of one value that is read whole
	maxValues = 1 << 23  // of a list that is read whole
)

// head is a file's first bytes.
type head []byte

func headOf(path string) (head, error) {
	var h head
	err := open(path, func(r io.Reader) (err error) {
		h, err = io.ReadAll(io.LimitReader(r, headBytes))
		return err
	})
	return h, err
}

// has reports whether the file begins as an object, with all of the words as keys or
// texts among its first bytes.
func (h head) has(words ...string) bool {
	for _, word := range words {
		if !bytes.Contains(h, []byte(`"`+word+`"`)) {
			return false
		}
	}
	return bytes.HasPrefix(bytes.TrimLeft(h, " \t\r\n"), []byte("{"))
}

// open reads a file.
func open(path string, read func(r io.Reader) error) error {
	disk, err := files.OpenInput(path, files.Log)
	if err != nil {
		return err
	}
	defer disk.Close()
	return read(disk)
}

// source is JSON as Python writes it: outside of texts NaN, Infinity and -Infinity become
// null. It refuses a text that no log has.
type source struct {
	reader  *bufio.Reader
	decoder *jsontext.Decoder
	read    int64
	text    bool   // within a text
	next    string // replaces what was read last
}

// decode returns a decoder of r. A key may stand twice: the last one counts.
func decode(r io.Reader) *jsontext.Decoder {
	s := &source{reader: bufio.NewReaderSize(r, 64<<10)}
	s.decoder = jsontext.NewDecoder(s, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return s.decoder
}

func (s *source) Read(p []byte) (n int, err error) {
	if s.read-s.decoder.InputOffset() > maxText {
		return 0, errLong
	}
	for n < len(p) {
		if s.next == "" {
			if _, err = s.reader.Peek(1); err != nil {
				break
			}
			buffered, _ := s.reader.Peek(min(s.reader.Buffered(), len(p)-n))
			k := s.plain(buffered)
			copy(p[n:], buffered[:k])
			s.reader.Discard(k)
			if n += k; k < len(buffered) {
				s.next = s.special()
			}
		}
		k := copy(p[n:], s.next)
		n, s.next = n+k, s.next[k:]
	}
	if s.read += int64(n); n > 0 {
		err = nil
	}
	return n, err
}

var errLong = fmt.Errorf("a text or value is longer than %d MiB", maxText>>20)

// plain returns the number of bytes up to one that changes the state.
func (s *source) plain(buffered []byte) int {
	marks := "\"NI-"
	if s.text {
		marks = "\"\\"
	}
	if k := bytes.IndexAny(buffered, marks); k >= 0 {
		return k
	}
	return len(buffered)
}

// special reads a mark, and returns its replacement.
func (s *source) special() string {
	mark, _ := s.reader.Peek(1)
	word, now := string(mark), ""
	switch {
	case word == `"`:
		s.text = !s.text
	case s.text: // a backslash and the byte that it escapes
		mark, _ = s.reader.Peek(2)
		word = string(mark)
	default:
		for _, c := range []string{"NaN", "Infinity", "-Infinity"} {
			if mark, _ := s.reader.Peek(len(c)); string(mark) == c {
				word, now = c, "null"
			}
		}
	}
	s.reader.Discard(len(word))
	return cmp.Or(now, word)
}

// into reads a text that is one JSON value.
func into(r io.Reader, value any) error {
	d := decode(r)
	if err := json.UnmarshalDecode(d, value); err != nil {
		return fault(err)
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return fmt.Errorf("byte %d: more follows after the end", d.InputOffset())
	}
	return nil
}

// parse decodes a raw value.
func parse(v jsontext.Value, value any) error {
	return json.Unmarshal(v, value, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// object reads a file that is one JSON value.
func object(path string, value any) error {
	return open(path, func(r io.Reader) error { return into(r, value) })
}

// rows calls each for every row of JSONL, from 1.
func rows[T any](path string, each func(row *T) error) error {
	return open(path, func(r io.Reader) error {
		d := decode(r)
		for n := 1; ; n++ {
			var row T
			err := json.UnmarshalDecode(d, &row)
			if err == io.EOF {
				return nil
			}
			if err == nil {
				err = each(&row)
			}
			if err != nil {
				return fmt.Errorf("row %d: %w", n, fault(err))
			}
		}
	})
}

// list calls each for every value of a JSON list, one at a time; another value is passed
// over.
type list[T any] struct {
	each func(row *T) error
	row  int // the one that is read, from 1
}

func (l *list[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '[' {
		return d.SkipValue()
	}
	d.ReadToken()
	for d.PeekKind() != ']' {
		l.row++
		var row T
		err := json.UnmarshalDecode(d, &row)
		if err == nil {
			err = l.each(&row)
		}
		if err != nil {
			return fmt.Errorf("sample %d: %w", l.row, fault(err))
		}
	}
	_, err := d.ReadToken()
	return err
}

// fault turns an error of the JSON library into a short one.
func fault(err error) error {
	var syntax *jsontext.SyntacticError
	var semantic *json.SemanticError
	switch {
	case errors.Is(err, errLong):
		return errLong
	case errors.Is(err, io.ErrUnexpectedEOF), err == io.EOF:
		return errors.New("the text is cut short")
	case errors.As(err, &syntax):
		return fmt.Errorf("byte %d: not JSON: %w", syntax.ByteOffset, syntax.Err)
	case errors.As(err, &semantic) && semantic.Err != nil:
		return fault(semantic.Err)
	case errors.As(err, &semantic):
		return fmt.Errorf("byte %d: %s is %s, another kind of value is wanted there", semantic.ByteOffset, semantic.JSONPointer, jsonlist.Kind(semantic.JSONKind))
	}
	return err
}

// textOf returns a text, or the digits of a number; "" for another value.
func textOf(v jsontext.Value) (string, error) {
	switch v.Kind() {
	case '0':
		return string(v), nil
	case '"':
		text, err := jsontext.AppendUnquote(nil, v)
		if err != nil {
			return "", fmt.Errorf("%.40q is not UTF-8", string(v))
		}
		return string(text), nil
	}
	return "", nil
}

// listOf returns the values of a list; is is false for another value.
func listOf(v jsontext.Value) (all []jsontext.Value, is bool) {
	if v.Kind() != '[' || bytes.Count(v, []byte{','}) > maxValues {
		return nil, false
	}
	return all, parse(v, &all) == nil
}

// tokens converts a number of tokens, −1 if there is none.
func tokens(n *float64) int64 {
	if n == nil || !(*n >= 0 && *n < 1<<40) {
		return -1
	}
	return int64(*n)
}

// members are the members of an object in their order, none of another value.
type members []member

type member struct {
	name  string
	value jsontext.Value
}

func (m *members) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '{' {
		return d.SkipValue()
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		text := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return err
		}
		*m = append(*m, member{text, bytes.Clone(value)})
	}
	_, err := d.ReadToken()
	return err
}

// of returns the last value of a name, nil if there is none.
func (m members) of(name string) (value jsontext.Value) {
	for _, one := range m {
		if one.name == name {
			value = one.value
		}
	}
	return value
}

// within returns the value of a name, or of names with points between.
func (m members) within(name string) jsontext.Value {
	if value := m.of(name); value != nil {
		return value
	}
	outer, inner, deeper := strings.Cut(name, ".")
	var next members
	if !deeper || m.of(outer) == nil || parse(m.of(outer), &next) != nil {
		return nil
	}
	return next.within(inner)
}

// tokens returns the number of tokens of a name, −1 if there is none.
func (m members) tokens(name string) int64 {
	n, err := strconv.ParseFloat(string(m.of(name)), 64)
	if err != nil {
		return -1
	}
	return tokens(&n)
}
