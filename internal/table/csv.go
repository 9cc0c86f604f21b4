package table

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"
)

// CSV writes t as RFC 4180 CSV: the column names on the first line, then
// every value at full precision, the shortest decimal that reads back as the
// same float64. A missing value is an empty field. There is no comment line,
// because CSV has no comments and readers choke on them.
func CSV(w io.Writer, t Table) error {
	if err := t.Validate(); err != nil {
		return err
	}
	out := csv.NewWriter(w)
	record := make([]string, len(t.Columns))
	for j, c := range t.Columns {
		record[j] = c.Name
	}
	if err := out.Write(record); err != nil {
		return err
	}
	for i, row := range t.Rows {
		for j, c := range row {
			if c.kind == pair {
				return fmt.Errorf("table %s: row %d, column %s: a pair has no CSV form",
					t.Label, i+1, t.Columns[j].Name)
			}
			record[j] = c.Exact()
		}
		if err := out.Write(record); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// Exact is the cell's value with nothing lost, empty where it is missing: its
// field in CSV.
func (c Cell) Exact() string {
	switch c.kind {
	case number:
		return strconv.FormatFloat(c.number, 'g', -1, 64)
	case integer:
		return strconv.FormatInt(c.int, 10)
	default:
		return c.text
	}
}

// ReadCSV reads what CSV has written, as text: the names of the columns, and a field
// for each of them in every row. A column without a name of its own, a row of another
// length and text that is not UTF-8 are errors that say where.
func ReadCSV(data []byte) (columns []string, rows [][]string, err error) {
	reader := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	columns, err = reader.Read()
	switch {
	case errors.Is(err, io.EOF):
		return nil, nil, errors.New("the file is empty, expected a header")
	case err != nil:
		return nil, nil, fmt.Errorf("header: %w", err)
	}
	for i, column := range columns {
		if column == "" || !utf8.ValidString(column) || slices.Contains(columns[:i], column) {
			return nil, nil, fmt.Errorf("header: column %d, %q, has no name of its own", i+1, column)
		}
	}
	for {
		row, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return columns, rows, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("row %d: %w", len(rows)+1, err)
		}
		for i, field := range row {
			if !utf8.ValidString(field) {
				return nil, nil, fmt.Errorf("row %d: %s %q is not valid UTF-8", len(rows)+1, columns[i], field)
			}
		}
		rows = append(rows, row)
	}
}
