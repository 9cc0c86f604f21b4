package csvfile

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"strings"
)

// Row is a row of a CSV file, its cells byte for byte as they are in the file.
type Row struct {
	Line  int      // of the file, where the row begins; from 1
	Cells []string // none of a blank line
}

var (
	errUnclosed = errors.New("a quote opens a cell and is never closed")
	errFollowed = errors.New(`text follows the quote that closes a cell: a quote inside quotes is written twice ("")`)
	errBare     = errors.New(`there is a quote in a cell that does not begin with one: put the whole cell into quotes, and write a quote inside them twice ("")`)
	errCrowded  = fmt.Errorf("a row has more than %d cells", MaxCells)
	errReturn   = errors.New("there is a carriage return outside quotes that ends no line: lines end in LF or CR LF")
)

// Rows gives the rows of a CSV file (RFC 4180) one by one, the header among them.
// Unlike encoding/csv it leaves line breaks inside quotes as they are, tells blank
// lines, and goes on in the next line after a row that cannot be read. A byte
// order mark is passed over.
func Rows(data []byte) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		rest := bytes.TrimPrefix(data, []byte("\ufeff"))
		for line := 1; len(rest) > 0; {
			cells, n, err := scanRow(rest)
			if !yield(Row{line, cells}, err) {
				return
			}
			line += bytes.Count(rest[:n], []byte("\n"))
			rest = rest[n:]
		}
	}
}

// scanRow reads the row at the beginning of text, n bytes with the end of its
// line. After an error n goes to the end of the line that it is in.
func scanRow(text []byte) (cells []string, n int, err error) {
	if end := lineEnd(text); end > 0 {
		return nil, end, nil
	}
	for {
		cell, length, err := scanCell(text[n:])
		n += length
		if err != nil {
			if next := bytes.IndexByte(text[n:], '\n'); next >= 0 {
				return nil, n + next + 1, err
			}
			return nil, len(text), err
		}
		if len(cells) == MaxCells {
			if next := bytes.IndexByte(text[n:], '\n'); next >= 0 {
				return nil, n + next + 1, errCrowded
			}
			return nil, len(text), errCrowded
		}
		cells = append(cells, cell)
		if n == len(text) || text[n] != ',' {
			return cells, n + lineEnd(text[n:]), nil
		}
		n++
	}
}

// scanCell reads the cell at the beginning of text, up to a comma, the end of a
// line or of the file.
func scanCell(text []byte) (cell string, length int, err error) {
	if len(text) > 0 && text[0] == '"' {
		return scanQuoted(text)
	}
	end := bytes.IndexAny(text, ",\n\r\"")
	switch {
	case end < 0:
		end = len(text)
	case text[end] == '"':
		return "", end, errBare
	case text[end] == '\r' && lineEnd(text[end:]) == 0:
		return "", end, errReturn
	}
	return string(text[:end]), end, nil
}

// scanQuoted reads a cell in quotes.
func scanQuoted(text []byte) (cell string, length int, err error) {
	end := 1
	for {
		next := bytes.IndexByte(text[end:], '"')
		if next < 0 {
			return "", len(text), errUnclosed
		}
		end += next + 1
		if end == len(text) || text[end] != '"' {
			break
		}
		end++
	}
	if end < len(text) && text[end] != ',' && lineEnd(text[end:]) == 0 {
		return "", end, errFollowed
	}
	return strings.ReplaceAll(string(text[1:end-1]), `""`, `"`), end, nil
}

// lineEnd is the length of the line end that text begins with; 0 for none.
func lineEnd(text []byte) int {
	switch {
	case bytes.HasPrefix(text, []byte("\n")):
		return 1
	case bytes.HasPrefix(text, []byte("\r\n")):
		return 2
	}
	return 0
}
