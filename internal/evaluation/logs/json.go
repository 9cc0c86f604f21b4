package logs

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"speceval/internal/store/files"
)

// maxValue bounds a text, and a value that is read whole, in bytes.
const maxValue = 64 << 20

var errLong = fmt.Errorf("a text or value is longer than %d MiB", maxValue>>20)

// lenient is how logs are decoded: a key may stand twice, and the last one counts.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// open opens a log for reading, decompressed if its name ends in .gz.
func open(path string) (io.ReadCloser, error) {
	disk, err := files.OpenInput(path, files.Log)
	if err != nil || !strings.HasSuffix(path, gzipped) {
		return disk, err
	}
	text, err := gzip.NewReader(disk)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), disk.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{io.LimitReader(text, files.Log.MaxBytes), disk}, nil
}

// gzipped ends the name of a file that is compressed by gzip.
const gzipped = ".gz"

// base is the name of a file, that of its text if it is compressed.
func base(path string) string { return strings.TrimSuffix(filepath.Base(path), gzipped) }

// Head returns the first bytes of a file, by which its format is recognised.
func Head(path string) ([]byte, error) {
	disk, err := open(path)
	if err != nil {
		return nil, err
	}
	defer disk.Close()
	return io.ReadAll(io.LimitReader(disk, 64<<10))
}

// python is JSON as Python writes it: outside of texts NaN, Infinity and -Infinity become
// null. It ends with errLong in a value that no log has.
type python struct {
	*bufio.Reader
	decoder       *jsontext.Decoder
	read          int64
	text, escaped bool
	rest          string // of a null
}

// decode returns a decoder of r, which may begin with a byte order mark.
func decode(r io.Reader) *jsontext.Decoder {
	p := &python{Reader: bufio.NewReaderSize(r, 64<<10)}
	if mark, _ := p.Peek(3); string(mark) == "\ufeff" {
		p.Discard(3)
	}
	p.decoder = jsontext.NewDecoder(p, lenient)
	return p.decoder
}

func (p *python) Read(b []byte) (n int, err error) {
	if p.read-p.decoder.InputOffset() > maxValue {
		return 0, errLong
	}
	for ; n < len(b) && err == nil; n++ {
		if p.rest != "" {
			b[n], p.rest = p.rest[0], p.rest[1:]
			continue
		}
		b[n], err = p.ReadByte()
		switch c := b[n]; {
		case err != nil:
			n--
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
					b[n], p.rest = 'n', "ull"
				}
			}
		}
	}
	p.read += int64(n)
	if n > 0 {
		err = nil
	}
	return n, err
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
	disk, err := open(path)
	if err != nil {
		return err
	}
	defer disk.Close()
	return into(disk, value)
}

// beside reads another file in the folder of a log, if it is there and sound.
func beside(path, name string, about any) {
	if path = filepath.Join(filepath.Dir(path), name); object(path, about) != nil {
		object(path+gzipped, about)
	}
}

// rows calls each for every row of JSONL.
func rows[T any](path string, each func(row *T) error) error {
	disk, err := open(path)
	if err != nil {
		return err
	}
	defer disk.Close()
	l, d := list[T]{each: each}, decode(disk)
	for err == nil {
		err = l.next(d)
	}
	if err == io.EOF {
		return nil
	}
	return fmt.Errorf("row %d: %w", l.row, fault(err))
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
		return fmt.Errorf("byte %d: %s is another kind of value than is wanted there, %s", semantic.ByteOffset, semantic.JSONPointer, semantic.JSONKind)
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

// of returns the last value of a name, or of names with points between; nil if there is
// none.
func (m members) of(name string) (value jsontext.Value) {
	for _, one := range m {
		if one.name == name {
			value = one.value
		}
	}
	if outer, inner, deeper := strings.Cut(name, "."); value == nil && deeper {
		var next members
		parse(m.of(outer), &next)
		return next.of(inner)
	}
	return value
}
