package logs

import (
	"bufio"
	"bytes"
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

// maxText bounds a text, and a value that is read whole, in bytes.
const maxText = 64 << 20

// lenient is how logs are decoded: a key may stand twice, and the last one counts.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// head is a file's first bytes, by which its format is recognised.
type head []byte

func headOf(path string) (h head, err error) {
	err = open(path, func(r io.Reader) error {
		h, err = io.ReadAll(io.LimitReader(r, 64<<10))
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

// python is JSON as Python writes it: outside of texts NaN, Infinity and -Infinity become
// null. It refuses a text that no log has.
type python struct {
	*bufio.Reader
	decoder       *jsontext.Decoder
	read          int64
	text, escaped bool
	rest          string // of a null
}

// decode returns a decoder of r.
func decode(r io.Reader) *jsontext.Decoder {
	p := &python{Reader: bufio.NewReaderSize(r, 64<<10)}
	p.decoder = jsontext.NewDecoder(p, lenient)
	return p.decoder
}

var errLong = fmt.Errorf("a text or value is longer than %d MiB", maxText>>20)

func (p *python) Read(b []byte) (n int, err error) {
	if p.read-p.decoder.InputOffset() > maxText {
		return 0, errLong
	}
	for n < len(b) {
		if p.rest != "" {
			k := copy(b[n:], p.rest)
			n, p.rest = n+k, p.rest[k:]
			continue
		}
		c, err := p.ReadByte()
		if err != nil && n == 0 {
			return 0, err
		} else if err != nil {
			break
		}
		switch {
		case p.escaped:
			p.escaped = false
		case c == '"':
			p.text = !p.text
		case p.text:
			p.escaped = c == '\\'
		case c == 'N' || c == 'I' || c == '-':
			for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
				if next, _ := p.Peek(len(word) - 1); c == word[0] && string(next) == word[1:] {
					p.Discard(len(next))
					c, p.rest = 'n', "ull"
				}
			}
		}
		b[n] = c
		n++
	}
	p.read += int64(n)
	return n, nil
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
func parse(v jsontext.Value, value any) error { return json.Unmarshal(v, value, lenient) }

// object reads a file that is one JSON value.
func object(path string, value any) error {
	return open(path, func(r io.Reader) error { return into(r, value) })
}

// rows calls each for every row of JSONL, from 1.
func rows[T any](path string, each func(row *T) error) error {
	return open(path, func(r io.Reader) error {
		l := list[T]{each: each}
		for d := decode(r); ; {
			if err := l.next(d); err == io.EOF {
				return nil
			} else if err != nil {
				return fmt.Errorf("row %d: %w", l.row, fault(err))
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

func (l *list[T]) next(d *jsontext.Decoder) error {
	l.row++
	var row T
	if err := json.UnmarshalDecode(d, &row); err != nil {
		return err
	}
	return l.each(&row)
}

func (l *list[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '[' {
		return d.SkipValue()
	}
	d.ReadToken()
	for d.PeekKind() != ']' {
		if err := l.next(d); err != nil {
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

// listOf returns the values of a list; nil for another value.
func listOf(v jsontext.Value) (all []jsontext.Value) {
	if v.Kind() == '[' {
		parse(v, &all) // of a value that was read, so that it cannot fail
	}
	return all
}

// null reports whether there is no value.
func null(v jsontext.Value) bool { return v == nil || v.Kind() == 'n' }

// tokens is a number of tokens, −1 if it is not known.
func tokens(v jsontext.Value) int64 {
	n, err := strconv.ParseFloat(string(v), 64)
	if err != nil || !(n >= 0 && n < 1<<40) {
		return -1
	}
	return int64(n)
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
	_, err := d.ReadToken()
	for err == nil && d.PeekKind() != '}' {
		var one member
		if err = json.UnmarshalDecode(d, &one.name); err == nil {
			err = json.UnmarshalDecode(d, &one.value)
		}
		*m = append(*m, one)
	}
	if err == nil {
		_, err = d.ReadToken()
	}
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
