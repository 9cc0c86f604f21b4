// Package csvfile reads small CSV files: [Parse] files that begin with a header, column by
// name, and [Rows] any. Cells are separated by commas, or, where the header has none, by
// semicolons or tabs, as spreadsheets write them.
package csvfile

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// MaxCells is how many cells a line may have: each takes many times the memory of
	// the comma that it may be.
	MaxCells = 1 << 14
	// MaxRecords is how many rows a file that [Parse] reads may have.
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

// Record is a row of a CSV file.
type Record struct {
	Number int      // 1-based, the header not counted
	Fields []string // of the columns asked for, in the order asked; "" where the file lacks an optional one
}

// Parse reads the named columns of a CSV file. Columns may stand in any order
// and further ones are passed over. A file may lack the optional columns; to
// lack another is a fault, as is a row of another length or text that is not
// UTF-8. All faults are returned, each with its row but without the name of
// the file, unless they are more than a thousand; the records are those without fault.
func Parse(data []byte, columns []string, optional ...string) (records []Record, faults []error) {
	var header []string
	var at []int
	number := -1
	for row, err := range Rows(data) {
		number++
		switch {
		case header == nil && err != nil:
			return nil, []error{fmt.Errorf("header: %w", err)}
		case header == nil:
			header = row.Cells
			for i, name := range header {
				header[i] = strings.TrimSpace(name)
			}
			if at, faults = locate(header, columns, optional); len(faults) > 0 {
				return nil, faults
			}
			continue
		case len(faults) == maxFaults:
			return records, append(faults, fmt.Errorf("row %d and those after it were not read: there are too many faults", number))
		case number > MaxRecords:
			return records, append(faults, fmt.Errorf("row %d is one too many: a file has at most %d", number, MaxRecords))
		case err == nil && len(row.Cells) != len(header):
			err = fmt.Errorf("%d fields, the header has %d", len(row.Cells), len(header))
		}
		fields := make([]string, len(at))
		for i, position := range at {
			if err != nil || position < 0 {
				continue
			}
			if fields[i] = row.Cells[position]; !utf8.ValidString(fields[i]) {
				err = fmt.Errorf("%s %q is not valid UTF-8", header[position], fields[i])
			}
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("row %d: %w", number, err))
			continue
		}
		records = append(records, Record{Number: number, Fields: fields})
	}
	if header == nil {
		return nil, []error{fmt.Errorf("the file is empty, expected a header with the columns %s", strings.Join(columns, ", "))}
	}
	return records, faults
}

// locate gives the position of every column in the header, required ones
// first, and -1 for an optional one that is not there.
func locate(header, required, optional []string) (at []int, faults []error) {
	for i, name := range slices.Concat(required, optional) {
		position := slices.Index(header, name)
		switch {
		case position < 0 && i < len(required):
			faults = append(faults, fmt.Errorf("column %s is missing (the header is %q)", name, header))
		case position >= 0 && slices.Contains(header[position+1:], name):
			faults = append(faults, fmt.Errorf("column %s is there twice", name))
		}
		at = append(at, position)
	}
	return at, faults
}
