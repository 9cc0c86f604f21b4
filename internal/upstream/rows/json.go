package rows

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// jsonReader reads JSON that stands on one line: a line feed ends whatever it is in.
type jsonReader struct{ source *source }

// maxNesting is how deep lists and objects may be nested.
const maxNesting = 10_000

// peek passes over blanks and gives the byte after them, which is within something.
func (j jsonReader) peek(within string) (byte, error) {
	for {
		window := j.source.window(1)
		for i, c := range window {
			if c != ' ' && c != '\t' && c != '\r' {
				j.source.skip(i)
				return c, nil
			}
		}
		j.source.skip(len(window))
		if len(window) == 0 {
			return 0, j.source.ended(within)
		}
	}
}

// take passes over blanks and one of some bytes, and gives that.
func (j jsonReader) take(any, within string) (byte, error) {
	c, err := j.peek(within)
	if err != nil {
		return 0, err
	}
	if strings.IndexByte(any, c) < 0 {
		return 0, j.unexpected(c, within)
	}
	j.source.skip(1)
	return c, nil
}

func (j jsonReader) unexpected(c byte, within string) error {
	if c == '\n' {
		return fmt.Errorf("the line ends within %s", within)
	}
	window := j.source.window(1)
	return fmt.Errorf("%s has %q where JSON has none, at byte %d of the file", within, window[:min(len(window), 12)], j.source.offset())
}

// text appends the characters of a string to into, up to most bytes of them; more
// are passed over, and told.
func (j jsonReader) text(into []byte, most int) (_ []byte, long, halved bool, err error) {
	text := jsonText{source: j.source}
	text.open()
	for {
		piece, err := text.next()
		if errors.Is(err, io.EOF) {
			return into, long, text.halved, nil
		}
		if err != nil {
			return nil, false, false, err
		}
		if long = long || len(into)+len(piece) > most; !long {
			into = append(into, piece...)
		}
	}
}

// number appends a number as it is written to into, up to most bytes.
func (j jsonReader) number(into []byte, most int) (_ []byte, long bool, err error) {
	take := func() {
		if long = long || len(into) >= most; !long {
			into = append(into, j.source.window(1)[0])
		}
		j.source.skip(1)
	}
	next := func(any string) bool {
		window := j.source.window(1)
		return len(window) > 0 && strings.IndexByte(any, window[0]) >= 0
	}
	const digits = "0123456789"
	several := func() bool { // digits, at least one
		if !next(digits) {
			return false
		}
		for next(digits) {
			take()
		}
		return true
	}
	if next("-") {
		take()
	}
	whole := true
	if next("0") {
		take()
	} else {
		whole = several()
	}
	if whole && next(".") {
		take()
		whole = several()
	}
	if whole && next("eE") {
		take()
		if next("+-") {
			take()
		}
		whole = several()
	}
	if !whole {
		c, err := j.peek("a number")
		if err == nil {
			err = j.unexpected(c, "a number")
		}
		return nil, false, err
	}
	return into, long, nil
}

// literal passes over null, true or false.
func (j jsonReader) literal(name string) error {
	window := j.source.window(len(name))
	if !bytes.HasPrefix(window, []byte(name)) {
		if len(window) < len(name) && bytes.HasPrefix([]byte(name), window) {
			return j.source.ended("a value")
		}
		return j.unexpected(window[0], "a value")
	}
	j.source.skip(len(name))
	return nil
}

// scalar passes over the value that begins with c, if it is no list and no object.
func (j jsonReader) scalar(c byte) (err error) {
	switch {
	case c == '"':
		_, _, _, err = j.text(nil, 0)
	case c == '-' || '0' <= c && c <= '9':
		_, _, err = j.number(nil, 0)
	case c == 'n':
		err = j.literal("null")
	case c == 't':
		err = j.literal("true")
	case c == 'f':
		err = j.literal("false")
	default:
		err = j.unexpected(c, "a value")
	}
	return err
}

// skip passes over a value of any kind and size.
func (j jsonReader) skip() error {
	var open []byte // what closes the lists and objects that it is in
	for {
		c, err := j.peek("a value")
		if err != nil {
			return err
		}
		switch c {
		case '{', '[':
			open = append(open, c+2) // } and ] come two after
			if len(open) >= maxNesting {
				return fmt.Errorf("lists and objects are nested deeper than %d", maxNesting)
			}
			j.source.skip(1)
			if c, err = j.peek("a list or an object"); err != nil {
				return err
			}
			if c != open[len(open)-1] {
				if err := j.key(open); err != nil {
					return err
				}
				continue
			}
		default:
			if err := j.scalar(c); err != nil {
				return err
			}
		}
		more, err := j.close(&open)
		if err != nil || !more {
			return err
		}
	}
}

// close passes over what follows a value: the ends of what it is in, and the comma
// and key before the next value, if there is one.
func (j jsonReader) close(open *[]byte) (more bool, err error) {
	for len(*open) > 0 {
		last := len(*open) - 1
		ends := ",}"
		if (*open)[last] == ']' {
			ends = ",]"
		}
		c, err := j.take(ends, "a list or an object")
		if err != nil {
			return false, err
		}
		if c == ',' {
			return true, j.key(*open)
		}
		*open = (*open)[:last]
	}
	return false, nil
}

// key passes over the key of the value to come, where it is in an object.
func (j jsonReader) key(open []byte) error {
	if open[len(open)-1] != '}' {
		return nil
	}
	c, err := j.peek("an object")
	if err != nil {
		return err
	}
	if c != '"' {
		return j.unexpected(c, "an object")
	}
	if _, _, _, err := j.text(nil, 0); err != nil {
		return err
	}
	_, err = j.take(":", "an object")
	return err
}
