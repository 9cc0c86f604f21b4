// Package csvfile reads small CSV files: [Decode] files that begin with a header, into structs,
// and [Rows] any. Cells are separated by commas, or, where the header has none, by
// semicolons or tabs, as spreadsheets write them.
package csvfile

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
)

const (
	// MaxCells is how many cells a line may have: each takes many times the memory of
	// the comma that it may be.
	MaxCells = 1 << 14
	// MaxRecords is how many rows a file that [Decode] reads may have.
	MaxRecords = 1 << 19
	// maxFaults is how many faults are collected before a file is given up.
	maxFaults = 1000
)

// Row is a row of a CSV file.
type Row struct {
	Line  int // of the file, where the row begins; from 1
	Cells []string
}

// Rows gives the rows of a CSV file one by one, the header among them, and goes on after
// one that cannot be read. Blank lines and a byte order mark are passed over.
func Rows(data []byte) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		data = bytes.TrimPrefix(data, []byte("\ufeff"))
		number, comma := 0, separator(data)
		data = sep.ReplaceAll(data, nil)
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			if number++; bytes.Count(line, []byte{comma}) >= MaxCells {
				yield(Row{Line: number}, fmt.Errorf("the line has more than %d cells", MaxCells))
				return
			}
		}
		// encoding/csv makes LF of CR LF, which would change the texts of benchmarks: it
		// takes one CR, so inside quotes there have to be two.
		pieces := bytes.Split(data, []byte(`"`))
		for i := 1; i < len(pieces); i += 2 {
			pieces[i] = bytes.ReplaceAll(pieces[i], []byte("\r\n"), []byte("\r\r\n"))
		}
		reader := csv.NewReader(bytes.NewReader(bytes.Join(pieces, []byte(`"`))))
		reader.FieldsPerRecord, reader.Comma = -1, rune(comma)
		for {
			cells, err := reader.Read()
			if errors.Is(err, io.EOF) {
				return
			}
			row := Row{Cells: cells}
			if fault := (*csv.ParseError)(nil); errors.As(err, &fault) {
				row, err = Row{Line: fault.StartLine}, fault.Err
			} else {
				row.Line, _ = reader.FieldPos(0)
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// sep is the line by which Excel names the separator, without its end: lines keep their numbers.
var sep = regexp.MustCompile(`^sep=.\r?(?m:$)`)

// separator returns the mark between the cells of a file, by its first line.
func separator(data []byte) byte {
	header, _, _ := bytes.Cut(bytes.TrimLeft(data, "\r\n"), []byte("\n"))
	for _, mark := range []byte(",;\t") {
		if bytes.IndexByte(header, mark) >= 0 {
			return mark
		}
	}
	return ','
}
