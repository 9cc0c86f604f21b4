package vllm

import (
	"bytes"
	"errors"
	"io"
)

// errLongLine ends a stream whose line or event has no reasonable end.
var errLongLine = errors.New("a line too long")

// events reads the data of server-sent events (WHATWG HTML, section 9.2):
// lines that end in LF, CRLF or CR, comments, and data over several lines.
// Other fields than data mean nothing here.
type events struct {
	source  io.Reader
	longest int // bytes of a line and of an event

	buffer     []byte
	start, end int // of what was read and not yet used
	afterCR    bool
	data       []byte
}

func newEvents(source io.Reader, longest int) *events {
	e := &events{buffer: make([]byte, min(8<<10, longest))}
	e.restart(source, longest)
	return e
}

// restart reads from another source, in which lines and events are at most so long.
func (e *events) restart(source io.Reader, longest int) {
	e.source, e.longest, e.start, e.end, e.afterCR = source, longest, 0, 0, false
}

// next is the data of the next event, valid until the next call. At the end of
// the source it returns io.EOF, and drops an event that has not ended.
func (e *events) next() ([]byte, error) {
	e.data = e.data[:0]
	seen := false
	for {
		line, err := e.line()
		if err != nil {
			return nil, err
		}
		if len(line) == 0 {
			if seen {
				return e.data, nil
			}
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":")) // a comment has the name ""
		if string(name) != "data" {
			continue
		}
		if seen {
			e.data = append(e.data, '\n')
		}
		seen = true
		e.data = append(e.data, bytes.TrimPrefix(value, []byte(" "))...)
		if len(e.data) > e.longest {
			return nil, errLongLine
		}
	}
}

// line is the next line without its end.
func (e *events) line() ([]byte, error) {
	searched := 0
	for {
		if e.afterCR && e.start < e.end {
			e.afterCR = false
			if e.buffer[e.start] == '\n' {
				e.start++
			}
		}
		pending := e.buffer[e.start:e.end]
		if i := lineEnd(pending[searched:]); i >= 0 {
			i += searched
			e.start += i + 1
			e.afterCR = pending[i] == '\r'
			return pending[:i], nil
		}
		searched = len(pending)
		if err := e.fill(); err != nil {
			return nil, err
		}
	}
}

func lineEnd(data []byte) int {
	lf := bytes.IndexByte(data, '\n')
	if lf >= 0 {
		data = data[:lf]
	}
	if cr := bytes.IndexByte(data, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// fill reads more behind what is pending, and makes room for it first.
func (e *events) fill() error {
	if e.start > 0 {
		e.end = copy(e.buffer, e.buffer[e.start:e.end])
		e.start = 0
	}
	if e.end == len(e.buffer) {
		if e.end >= e.longest {
			return errLongLine
		}
		larger := make([]byte, min(2*len(e.buffer), e.longest))
		copy(larger, e.buffer[:e.end])
		e.buffer = larger
	}
	for range 100 { // a reader may return nothing now and then, not for ever
		n, err := e.source.Read(e.buffer[e.end:])
		e.end += n
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}
