package report

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"unicode/utf8"

	"speceval/internal/table"
)

// tablesDir is the part of the output folder that holds the tables.
const tablesDir = "tables"

// mostTable is the size, in bytes, beyond which a file is taken for no table.
const mostTable = 64 << 20

// readSheet reads a stored table again, every cell as the text that it has there.
// The error wraps fs.ErrNotExist where it is not stored.
func readSheet(outDir, base string) (Sheet, error) {
	path := filepath.Join(outDir, tablesDir, base+".csv")
	info, err := os.Stat(path)
	if err != nil {
		return Sheet{}, err
	}
	if !info.Mode().IsRegular() || info.Size() > mostTable {
		return Sheet{}, fmt.Errorf("%s: %d bytes (%s) are no table", path, info.Size(), info.Mode())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return Sheet{}, err
	}
	sheet, err := parseSheet(base, data)
	if err != nil {
		return Sheet{}, fmt.Errorf("%s: %w", path, err)
	}
	return sheet, nil
}

// parseSheet reads the CSV form of a table. A column without a name or with
// another's, a row of another length and text that is not UTF-8 are errors that say where.
func parseSheet(base string, data []byte) (Sheet, error) {
	s := Sheet{Base: base}
	reader := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	header, err := reader.Read()
	if errors.Is(err, io.EOF) {
		return s, errors.New("the file is empty, expected a header")
	}
	if err != nil {
		return s, fmt.Errorf("header: %w", err)
	}
	for i, column := range header {
		if column == "" || !utf8.ValidString(column) || slices.Contains(header[:i], column) {
			return s, fmt.Errorf("header: column %d, %q, has no name of its own", i+1, column)
		}
	}
	s.Data.Columns = names(header...)
	for number := 1; ; number++ {
		fields, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return s, fmt.Errorf("row %d: %w", number, err)
		}
		row := make([]table.Cell, len(fields))
		for i, field := range fields {
			if !utf8.ValidString(field) {
				return s, fmt.Errorf("row %d: %s %q is not valid UTF-8", number, header[i], field)
			}
			row[i] = table.Text(field)
		}
		s.Data.Rows = append(s.Data.Rows, row)
	}
	return s, nil
}

// distinct checks that every row has a label of its own.
func (s Sheet) distinct() error {
	seen := map[string]int{}
	for i, label := range s.Labels() {
		if before, twice := seen[label]; twice {
			return fmt.Errorf("rows %d and %d are both %q", before, i+1, label)
		}
		seen[label] = i + 1
	}
	return nil
}

// ColumnNames are those of the CSV form.
func (s Sheet) ColumnNames() []string {
	out := make([]string, len(s.Data.Columns))
	for i, c := range s.Data.Columns {
		out[i] = c.Name
	}
	return out
}

// fields is a row of the CSV form by column, as text.
func (s Sheet) fields(row int) map[string]string {
	fields := make(map[string]string, len(s.Data.Columns))
	for j, c := range s.Data.Columns {
		fields[c.Name] = s.Data.Rows[row][j].Exact()
	}
	return fields
}

// numberIn is the number that a field holds; ok is false for text, for nothing,
// and for what is not finite.
func numberIn(field string) (v float64, ok bool) {
	v, err := strconv.ParseFloat(field, 64)
	return v, err == nil && finite(v)
}

// notThere tells a file that is not there from one that cannot be read.
func notThere(err error) bool { return errors.Is(err, fs.ErrNotExist) }
