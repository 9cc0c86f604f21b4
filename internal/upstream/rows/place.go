package rows

import (
	"errors"
	"fmt"
	"io"
	"os"

	"speceval/internal/files"
)

// Span is where a JSON string stands in a file, its quotes included.
type Span struct{ Offset, Length int64 }

// OpenText streams the characters of the JSON string at a place, which [Row.Place]
// gave, escapes undone. Of a file that is no longer the same, or has no string
// there, it is an error of Read.
func OpenText(path string, at Span) (io.ReadCloser, error) {
	file, err := files.OpenInput(path, files.Upstream)
	if err != nil {
		return nil, err
	}
	text := &placedText{path: path, file: file}
	text.json.source = newSource(io.NewSectionReader(file, at.Offset, at.Length))
	if window := text.json.source.window(1); at.Length < 2 || len(window) == 0 || window[0] != '"' {
		file.Close()
		return nil, fmt.Errorf("%s: there is no text at byte %d: has the file changed?", path, at.Offset)
	}
	text.json.open()
	return text, nil
}

// placedText is a JSON string of a file.
type placedText struct {
	path string
	file *os.File
	json jsonText
	rest []byte // of the last piece
	err  error
}

// Read gives characters of the text.
func (t *placedText) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(t.rest) == 0 {
			if t.err != nil {
				break
			}
			t.rest, t.err = t.json.next()
			if t.err != nil {
				t.err = t.end()
			}
			continue
		}
		copied := copy(p[n:], t.rest)
		n, t.rest = n+copied, t.rest[copied:]
	}
	if n == 0 && len(p) > 0 {
		return 0, t.err
	}
	return n, nil
}

// end is the error with which the text ends: io.EOF where it should.
func (t *placedText) end() error {
	err := t.err
	if errors.Is(err, io.EOF) {
		over, readErr := t.json.source.over()
		switch {
		case t.json.halved:
			err = errHalved
		case readErr != nil:
			err = readErr
		case over:
			return io.EOF
		default:
			err = errors.New("the text ends too early")
		}
	}
	return fmt.Errorf("%s: %w: has the file changed?", t.path, err)
}

// Close closes the file.
func (t *placedText) Close() error { return t.file.Close() }
