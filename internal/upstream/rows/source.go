package rows

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// source is a file of text that is read through a window.
type source struct {
	r        io.Reader
	buffer   []byte
	from, to int   // of what is unread, in the buffer
	before   int64 // bytes of the file before the buffer
	err      error // of r; io.EOF at the end
}

// windowBytes is how much of a file is held at a time.
const windowBytes = 64 << 10

func newSource(r io.Reader) *source { return &source{r: r, buffer: make([]byte, windowBytes)} }

// window gives at least n unread bytes, of which there are fewer only at the end of
// the file. It is valid until the next call.
func (s *source) window(n int) []byte {
	for s.to-s.from < n && s.err == nil {
		s.fill()
	}
	return s.buffer[s.from:s.to]
}

func (s *source) fill() {
	if s.from > 0 {
		s.before += int64(s.from)
		s.to = copy(s.buffer, s.buffer[s.from:s.to])
		s.from = 0
	}
	n, err := s.r.Read(s.buffer[s.to:])
	s.to, s.err = s.to+n, err
}

// skip passes over bytes of the window.
func (s *source) skip(n int) { s.from += n }

// offset is that of the window in the file.
func (s *source) offset() int64 { return s.before + int64(s.from) }

// ended is the error where the file ends within something, or cannot be read on.
func (s *source) ended(within string) error {
	if s.err != nil && !errors.Is(s.err, io.EOF) {
		return s.err
	}
	return fmt.Errorf("the file ends within %s: it is truncated, download it again", within)
}

// over reports whether the file has been read to its end; where it cannot be read
// on, that is an error.
func (s *source) over() (bool, error) {
	if len(s.window(1)) > 0 {
		return false, nil
	}
	if !errors.Is(s.err, io.EOF) {
		return false, s.err
	}
	return true, nil
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
