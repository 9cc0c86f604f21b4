package rows

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"speceval/internal/store/files"
)

// windowBytes is how much of a file is read at a time.
const windowBytes = 64 << 10

// readJSONL reads an object a line.
func readJSONL(file *os.File, r *reader) error {
	in := bufio.NewReaderSize(file, windowBytes)
	var line []byte
	for start := int64(0); ; start += int64(len(line)) {
		line = line[:0]
		err := bufio.ErrBufferFull
		for errors.Is(err, bufio.ErrBufferFull) {
			var piece []byte
			piece, err = in.ReadSlice('\n')
			if line = append(line, piece...); len(line) > maxPiece {
				return fmt.Errorf("row %d: is longer than %d MiB", r.row.Number+1, maxPiece>>20)
			}
		}
		if err != nil && err != io.EOF {
			return err
		}
		if len(bytes.TrimSpace(line)) > 0 {
			if err := r.next(func() error { return r.object(line, start) }); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}

// object reads a line, which starts at a byte of the file.
func (r *reader) object(line []byte, start int64) error {
	// Half of a surrogate pair and names that are there twice are faults of wanted columns alone.
	d := jsontext.NewDecoder(bytes.NewBuffer(line), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	open, err := d.ReadToken()
	if err == nil && open.Kind() != '{' {
		return fmt.Errorf("want an object a line, not %s", open.Kind())
	}
	var names []string
	for err == nil && d.PeekKind() != '}' {
		token, fault := d.ReadToken()
		if err = fault; err != nil {
			break
		}
		name := token.String()
		names = append(names, name)
		kind, wanted := r.columns[name]
		value, fault := d.ReadValue()
		if err = fault; err == nil && wanted {
			if err := r.value(name, kind, value, start+d.InputOffset()-int64(len(value))); err != nil {
				return fmt.Errorf("column %q: %w", name, err)
			}
		}
	}
	if err == nil {
		_, err = d.ReadToken()
	}
	switch rest := bytes.TrimSpace(line[d.InputOffset():]); {
	case errors.Is(err, io.ErrUnexpectedEOF) && line[len(line)-1] != '\n':
		return errors.New("the file ends within the row: it is truncated, download it again")
	case err != nil:
		return fmt.Errorf("in the line at byte %d of the file: %w", start, err)
	case len(rest) > 0:
		return fmt.Errorf("after the object the line has %.12q", rest)
	}
	return r.lacks(names)
}

// value takes the value of a column, which begins at a byte of the file.
func (r *reader) value(name string, want Kind, value jsontext.Value, at int64) (err error) {
	var into cell
	_, again := r.row.cells[name]
	switch kind := value.Kind(); {
	case again:
		return errors.New("is there twice")
	case kind == 'n':
		return want.null()
	case want == Place && kind == '"':
		into.place = Span{at, int64(len(value)), bytes.IndexByte(value, '\\') >= 0}
		if !value.IsValid() {
			err = errors.New("is no valid text")
		}
	case want <= Optional && kind == '0':
		into.text = string(value)
	case want <= Optional && kind == '"':
		err = json.Unmarshal(value, &into.text)
	case want == Texts && kind == '[':
		err = json.Unmarshal(value, &into.texts)
	default:
		err = fmt.Errorf("is %s, want %s", kind, want)
	}
	if err != nil {
		return err
	}
	return r.set(name, into)
}

// Span is the place of a JSON text in a file, its quotes included.
type Span struct {
	Offset, Length int64
	escaped        bool // it has escapes
}

// OpenText opens the characters of the JSON text at a place, which [Row.Place]
// returned: as a stream, or in memory where it has escapes.
func OpenText(path string, at Span) (io.ReadCloser, error) {
	file, err := files.OpenInput(path, files.Upstream)
	if err != nil {
		return nil, err
	}
	text := struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(file, at.Offset+1, at.Length-2), file}
	if at.escaped {
		quoted, err := io.ReadAll(io.NewSectionReader(file, at.Offset, at.Length))
		if err == nil {
			quoted, err = jsontext.AppendUnquote(nil, quoted)
		}
		if err != nil {
			file.Close()
			return nil, fmt.Errorf("%s: the text at byte %d: %w: has the file changed?", path, at.Offset, err)
		}
		text.Reader = bytes.NewReader(quoted)
	}
	return text, nil
}
