package rows

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"speceval/internal/files"
)

// jsonLines reads JSONL: an object a line. It holds one line.
type jsonLines struct {
	in      *bufio.Reader
	line    []byte // without the line feed
	at, end int64  // of the line in the file, with the line feed
	last    bool   // no line feed follows the line
	decoder jsontext.Decoder

	into *record
	have []bool // columns that the row has
	key  []byte
	keys []string // of the row, for errors: the first ones
}

const (
	windowBytes = 64 << 10  // how much of a file is read at a time
	maxLine     = 256 << 20 // bytes
	maxKeys     = 41
)

// Half of a surrogate pair is a fault in a column that is read alone, a name that is
// there twice for the columns of a row alone.
var jsonOptions = []jsontext.Options{jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)}

func readJSONL(ctx context.Context, file *os.File, into *record) error {
	l := jsonLines{in: bufio.NewReaderSize(cancelled{ctx, file}, windowBytes), into: into, have: make([]bool, len(into.columns))}
	for {
		if err := l.next(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if len(bytes.TrimSpace(l.line)) == 0 {
			continue
		}
		into.begin()
		if err := l.row(); err != nil {
			return into.fault(err)
		}
		if err := into.emit(); err != nil {
			return err
		}
	}
}

// next reads the next line. After the last one the error is io.EOF.
func (l *jsonLines) next() error {
	l.at, l.line = l.end, l.line[:0]
	for {
		piece, err := l.in.ReadSlice('\n')
		l.line = append(l.line, piece...)
		l.end += int64(len(piece))
		switch {
		case err == nil:
			l.line = l.line[:len(l.line)-1]
			return nil
		case len(l.line) > maxLine:
			return fmt.Errorf("the line at byte %d is longer than %d bytes", l.at, maxLine)
		case errors.Is(err, io.EOF) && len(l.line) > 0:
			l.last = true
			return nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
}

// row reads the line as an object.
func (l *jsonLines) row() error {
	clear(l.have)
	l.keys = l.keys[:0]
	l.decoder.Reset(bytes.NewBuffer(l.line), jsonOptions...)
	if open, err := l.decoder.ReadToken(); err != nil {
		return fmt.Errorf("want an object a line: %w", l.fault(err))
	} else if open.Kind() != '{' {
		return fmt.Errorf("want an object a line, not %s", described(open.Kind()))
	}
	for l.decoder.PeekKind() != '}' {
		if err := l.member(); err != nil {
			return err
		}
	}
	if _, err := l.decoder.ReadToken(); err != nil {
		return l.fault(err)
	}
	if rest := bytes.TrimSpace(l.line[l.decoder.InputOffset():]); len(rest) > 0 {
		return fmt.Errorf("after the object the line has %.12q", rest)
	}
	for i, column := range l.into.columns {
		if !l.have[i] && !column.Optional {
			return missing(column.Name, l.keys)
		}
	}
	return nil
}

// fault is an error of the decoder with its place in the file.
func (l *jsonLines) fault(err error) error {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) && l.last:
		return errors.New("the file ends within the row: it is truncated, download it again")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the line ends within the row")
	case errors.As(err, &syntax):
		return fmt.Errorf("byte %d of the file: %w", l.at+syntax.ByteOffset, syntax.Err)
	}
	return err
}

// member reads a key and its value.
func (l *jsonLines) member() error {
	name, err := l.decoder.ReadValue()
	if err != nil {
		return l.fault(err)
	}
	if !utf8.Valid(name) {
		return fmt.Errorf("a key %w", errUTF8)
	}
	l.key, _ = jsontext.AppendUnquote(l.key[:0], name) // half of a surrogate pair becomes U+FFFD
	if len(l.keys) < maxKeys {
		l.keys = append(l.keys, string(l.key[:min(len(l.key), 100)]))
	}
	value, err := l.decoder.ReadValue()
	i := l.into.index(l.key)
	switch {
	case err != nil:
		err = l.fault(err)
	case !utf8.Valid(value):
		err = errUTF8
	case i < 0:
	case l.have[i]:
		err = errors.New("is there twice")
	default:
		l.have[i] = true
		err = l.value(i, value)
	}
	if err != nil {
		return fmt.Errorf("column %.60q: %w", l.key, err)
	}
	return nil
}

// value takes the value of column i.
func (l *jsonLines) value(i int, value jsontext.Value) error {
	cell, kind, is := &l.into.cells[i], l.into.columns[i].Kind, value.Kind()
	switch {
	case is == 'n':
		return l.into.null(i)
	case kind == Filled:
		cell.filled = is != '"' || len(value) > len(`""`)
		return nil
	case kind == Place && is == '"':
		cell.place = Span{l.at + l.decoder.InputOffset() - int64(len(value)), int64(len(value))}
		if !value.IsValid() {
			return errHalved
		}
		return nil
	case kind == Text && is == '"':
		return cell.addText(value)
	case (kind == Text || kind == Number) && is == '0':
		return l.into.setText(i, append(cell.text, value...))
	case kind == Texts && is == '[':
		return cell.addTexts(value)
	}
	return fmt.Errorf("is %s, want %s", described(is), kind)
}

// addText appends the characters of a JSON string.
func (c *cell) addText(quoted jsontext.Value) (err error) {
	switch c.text, err = jsontext.AppendUnquote(c.text, quoted); {
	case err != nil:
		return errHalved // all else has been checked
	case len(c.text) > maxValue:
		return errLong
	}
	return nil
}

// addTexts appends the strings of a JSON list.
func (c *cell) addTexts(list jsontext.Value) error {
	in := jsontext.NewDecoder(bytes.NewBuffer(list), jsonOptions...)
	if _, err := in.ReadToken(); err != nil {
		return err
	}
	for in.PeekKind() != ']' {
		item, err := in.ReadValue()
		if err != nil {
			return err
		}
		if is := item.Kind(); is != '"' {
			return fmt.Errorf("is a list with %s, want a list of texts", described(is))
		}
		if err := errors.Join(c.addText(item), c.endText()); err != nil {
			return err
		}
	}
	return nil
}

var errHalved = errors.New(`holds half of a surrogate pair (\ud800 to \udfff), which is no character`)

// described is what a kind of JSON value is called.
func described(kind jsontext.Kind) string {
	switch kind {
	case '"':
		return "a text"
	case '[':
		return "a list"
	case '{':
		return "an object"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "a number"
}

// cancelled reads until its context ends.
type cancelled struct {
	ctx context.Context
	r   io.Reader
}

func (c cancelled) Read(p []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.r.Read(p)
}

// Span is the place of a JSON string in a file, its quotes included.
type Span struct{ Offset, Length int64 }

// OpenText streams the characters of the JSON string at a place, which [Row.Place]
// returned. If the file has no such string any more, Read returns the error.
func OpenText(path string, at Span) (io.ReadCloser, error) {
	file, err := files.OpenInput(path, files.Upstream)
	if err != nil {
		return nil, err
	}
	var quotes [2]byte
	_, err = file.ReadAt(quotes[:1], at.Offset)
	if err == nil {
		_, err = file.ReadAt(quotes[1:], at.Offset+at.Length-1)
	}
	if err != nil || at.Length < 2 || quotes != [2]byte{'"', '"'} {
		file.Close()
		return nil, fmt.Errorf("%s: there is no text at byte %d: has the file changed?", path, at.Offset)
	}
	quoted := io.NewSectionReader(file, at.Offset+1, at.Length-2)
	return &placedText{Closer: file, path: path, in: bufio.NewReaderSize(quoted, windowBytes)}, nil
}

// placedText is a JSON string of a file.
type placedText struct {
	io.Closer
	path   string
	in     *bufio.Reader // what is between the quotes
	quoted []byte        // a piece of it, in quotes
	text   []byte        // its characters
	rest   []byte        // of text, not yet read
}

func (t *placedText) Read(p []byte) (int, error) {
	if len(t.rest) == 0 {
		piece, err := t.in.Peek(windowBytes)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, fmt.Errorf("%s: %w", t.path, err)
		}
		if len(piece) == 0 {
			return 0, io.EOF
		}
		if err == nil { // more follows
			piece = piece[:wholeCharacters(piece)]
		}
		t.quoted = append(append(append(t.quoted[:0], '"'), piece...), '"')
		if t.text, err = jsontext.AppendUnquote(t.text[:0], t.quoted); err != nil {
			return 0, fmt.Errorf("%s: the text is damaged: %w: has the file changed?", t.path, err)
		}
		t.rest = t.text
		if _, err := t.in.Discard(len(piece)); err != nil {
			return 0, err
		}
	}
	n := copy(p, t.rest)
	t.rest = t.rest[n:]
	return n, nil
}

// wholeCharacters is the length of the beginning of a JSON string that ends between
// two characters.
func wholeCharacters(text []byte) int {
	for i := 0; ; {
		size := 1
		switch rest := text[i:]; {
		case len(rest) < len(`\ud83e\uddee`):
			return i
		case rest[0] == '\\' && rest[1] == 'u' && rest[2]|0x20 == 'd':
			size = 12 // half of a pair, and the other one
			if rest[3] < '8' || rest[6] != '\\' {
				size = 6
			}
		case rest[0] == '\\' && rest[1] == 'u':
			size = 6
		case rest[0] == '\\':
			size = 2
		case rest[0] >= utf8.RuneSelf:
			_, size = utf8.DecodeRune(rest)
		}
		i += size
	}
}
