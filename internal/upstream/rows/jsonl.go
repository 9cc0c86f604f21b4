package rows

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// jsonLines reads JSONL: an object a line.
type jsonLines struct {
	json jsonReader
	into *record
	have []bool // columns that the row has
	key  []byte
	keys []byte // of the row, for errors: the first ones, a line feed after each
}

const (
	maxKey  = 1 << 10 // bytes of a key that are kept; no column has a longer name
	maxKeys = 1 << 12
)

func readJSONL(ctx context.Context, file *os.File, into *record) error {
	l := jsonLines{
		json: jsonReader{newSource(cancelled{ctx, file})},
		into: into,
		have: make([]bool, len(into.columns)),
	}
	for {
		more, err := l.blank()
		if err != nil || !more {
			return err
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

// blank passes over blank lines, and tells whether another one follows.
func (l *jsonLines) blank() (more bool, err error) {
	for {
		over, err := l.json.source.over()
		if err != nil || over {
			return false, err
		}
		switch l.json.source.window(1)[0] {
		case ' ', '\t', '\r', '\n':
			l.json.source.skip(1)
		default:
			return true, nil
		}
	}
}

// row reads a line, and the line feed at its end.
func (l *jsonLines) row() error {
	clear(l.have)
	l.keys = l.keys[:0]
	if _, err := l.json.take("{", "the line"); err != nil {
		return fmt.Errorf("want an object a line: %w", err)
	}
	c, err := l.json.peek("the row")
	if err != nil {
		return err
	}
	if c == '}' {
		l.json.source.skip(1)
	}
	for c != '}' {
		if err := l.member(); err != nil {
			return err
		}
		if c, err = l.json.take(",}", "the row"); err != nil {
			return err
		}
	}
	if err := l.endOfLine(); err != nil {
		return err
	}
	for i, column := range l.into.columns {
		if !l.have[i] && !column.Optional {
			return missing(column.Name, l.names())
		}
	}
	return nil
}

// endOfLine sees to it that nothing follows the object.
func (l *jsonLines) endOfLine() error {
	for {
		over, err := l.json.source.over()
		if err != nil || over {
			return err
		}
		c := l.json.source.window(1)[0]
		switch c {
		case ' ', '\t', '\r', '\n':
			l.json.source.skip(1)
		default:
			return l.json.unexpected(c, "after the object the line")
		}
		if c == '\n' {
			return nil
		}
	}
}

// member reads a key and its value.
func (l *jsonLines) member() error {
	c, err := l.json.peek("the row")
	if err != nil {
		return err
	}
	if c != '"' {
		return l.json.unexpected(c, "the row")
	}
	var long bool
	if l.key, long, _, err = l.json.text(l.key[:0], maxKey); err != nil {
		return fmt.Errorf("a key: %w", err)
	}
	if len(l.keys)+len(l.key) < maxKeys {
		l.keys = append(append(l.keys, l.key...), '\n')
	}
	if _, err := l.json.take(":", "the row"); err != nil {
		return fmt.Errorf("column %.60q: %w", l.key, err)
	}
	i := l.into.index(l.key)
	switch {
	case i < 0 || long:
		err = l.json.skip()
	case l.have[i]:
		err = errors.New("is there twice")
	default:
		l.have[i] = true
		err = l.value(i)
	}
	if err != nil {
		return fmt.Errorf("column %.60q: %w", l.key, err)
	}
	return nil
}

// names lists the keys of the row.
func (l *jsonLines) names() (names []string) {
	from := 0
	for i, c := range l.keys {
		if c == '\n' {
			names = append(names, string(l.keys[from:i]))
			from = i + 1
		}
	}
	return names
}

// value reads the value of column i.
func (l *jsonLines) value(i int) error {
	c, err := l.json.peek("a value")
	if err != nil {
		return err
	}
	cell, kind := &l.into.cells[i], l.into.columns[i].Kind
	number := c == '-' || '0' <= c && c <= '9'
	switch {
	case c == 'n':
		if err := l.json.literal("null"); err != nil {
			return err
		}
		return l.into.null(i)
	case kind == Filled && c == '"':
		_, cell.filled, _, err = l.json.text(nil, 0)
		return err
	case kind == Filled:
		cell.filled = true
		return l.json.skip()
	case kind == Place && c == '"':
		cell.place.Offset = l.json.source.offset()
		_, _, halved, err := l.json.text(nil, 0)
		cell.place.Length = l.json.source.offset() - cell.place.Offset
		return textFault(err, false, halved)
	case kind == Text && c == '"':
		return l.text(cell)
	case (kind == Text || kind == Number) && number:
		var long bool
		if cell.text, long, err = l.json.number(cell.text, maxValue); err != nil || long {
			return textFault(err, long, false)
		}
		return l.into.setText(i, cell.text)
	case kind == Texts && c == '[':
		return l.texts(cell)
	}
	if err := l.json.skip(); err != nil {
		return err // the file is damaged, which matters more
	}
	return fmt.Errorf("is %s, want %s", described(c), kind)
}

// text reads a string into a cell, after what it holds.
func (l *jsonLines) text(cell *cell) error {
	text, long, halved, err := l.json.text(cell.text, maxValue)
	cell.text = text
	return textFault(err, long, halved)
}

// texts reads a list of strings.
func (l *jsonLines) texts(cell *cell) error {
	l.json.source.skip(1)
	c, err := l.json.peek("a list")
	if err != nil {
		return err
	}
	if c == ']' {
		l.json.source.skip(1)
		return nil
	}
	for c != ']' {
		if c, err = l.json.peek("a list"); err != nil {
			return err
		}
		if c != '"' {
			if err := l.json.skip(); err != nil {
				return err
			}
			return fmt.Errorf("is a list with %s, want a list of texts", described(c))
		}
		if err := l.text(cell); err != nil {
			return err
		}
		if err := cell.endText(); err != nil {
			return err
		}
		if c, err = l.json.take(",]", "a list"); err != nil {
			return err
		}
	}
	return nil
}

func textFault(err error, long, halved bool) error {
	switch {
	case err != nil:
		return err
	case long:
		return errLong
	case halved:
		return errHalved
	}
	return nil
}

// described is the kind of the value that begins with c.
func described(c byte) string {
	switch c {
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
