// Package csvfile reads small CSV files: [Parse] those that begin with a header,
// column by name, and [Rows] any, every byte of a cell as it is.
package csvfile

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

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
// A row has at most MaxCells cells, and a file MaxRecords rows.
func Parse(data []byte, columns []string, optional ...string) (records []Record, faults []error) {
	if err := crowded(data); err != nil {
		return nil, []error{err}
	}
	reader := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	header, err := reader.Read()
	if errors.Is(err, io.EOF) {
		return nil, []error{fmt.Errorf("the file is empty, expected a header with the columns %s", strings.Join(columns, ", "))}
	}
	if err != nil {
		return nil, []error{fmt.Errorf("header: %w", err)}
	}
	at, faults := locate(header, columns, optional)
	if len(faults) > 0 {
		return nil, faults
	}
	for number := 1; ; number++ {
		line, err := reader.Read()
		if err == nil || !errors.Is(err, io.EOF) {
			switch {
			case len(faults) == maxFaults:
				return records, append(faults, fmt.Errorf("row %d and those after it were not read: there are too many faults", number))
			case number > MaxRecords:
				return records, append(faults, fmt.Errorf("row %d is one too many: a file has at most %d", number, MaxRecords))
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return records, faults
		case errors.Is(err, csv.ErrFieldCount):
			faults = append(faults, fmt.Errorf("row %d: %d fields, the header has %d", number, len(line), len(header)))
			continue
		case err != nil: // the rest of the file cannot be split into rows
			return records, append(faults, fmt.Errorf("row %d: %w", number, err))
		}
		fields, err := pick(line, at, header)
		if err != nil {
			faults = append(faults, fmt.Errorf("row %d: %w", number, err))
			continue
		}
		records = append(records, Record{Number: number, Fields: fields})
	}
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

func pick(line []string, at []int, header []string) ([]string, error) {
	fields := make([]string, len(at))
	for i, position := range at {
		if position < 0 {
			continue
		}
		fields[i] = line[position]
		if !utf8.ValidString(fields[i]) {
			return nil, fmt.Errorf("%s %q is not valid UTF-8", header[position], fields[i])
		}
	}
	return fields, nil
}
