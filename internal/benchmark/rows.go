package benchmark

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"speceval/internal/store/csvfile"
)

// rows gives the rows of CSV that are not empty as records, each with the line where it
// begins.
func rows(data []byte) iter.Seq2[int, line] {
	return func(yield func(int, line) bool) {
		var header []string
		for row, err := range csvfile.Rows(data) {
			if err == nil && strings.Join(row.Cells, "") == "" {
				continue
			}
			if header == nil {
				for i, name := range row.Cells {
					row.Cells[i] = strings.TrimSpace(name)
				}
				if err == nil {
					err = checkHeader(row.Cells)
				}
				if err != nil {
					yield(row.Line, line{err: fmt.Errorf("is no header: %w", err)})
					return
				}
				header = row.Cells
				continue
			}
			var record []byte
			if err == nil {
				record, err = rowRecord(header, row.Cells)
			} else {
				err = fmt.Errorf("is no record: %w", err)
			}
			if !yield(row.Line, line{record, err}) {
				return
			}
		}
	}
}

// checkHeader returns an error if rows cannot be read by these columns.
func checkHeader(columns []string) error {
	for i, name := range columns {
		if name != "" && slices.Contains(columns[:i], name) {
			return fmt.Errorf("the column %.40q is there twice", name)
		}
	}
	for _, either := range []string{"id or task_id", "prompt or user_prompt or messages", "scorer"} {
		if !slices.ContainsFunc(strings.Split(either, " or "), func(key string) bool {
			return slices.ContainsFunc(columns, func(name string) bool { return folded(name) == folded(key) })
		}) {
			return fmt.Errorf("the column %s is missing, there are %.200q", either, columns)
		}
	}
	return nil
}

// rowRecord is the JSON that a row stands for. Cells beyond the header, and those of a
// column without a name, must be empty.
func rowRecord(header, cells []string) ([]byte, error) {
	if len(cells) < len(header) {
		return nil, fmt.Errorf("has %d cells, the header has %d", len(cells), len(header))
	}
	b := []byte("{")
	for i, cell := range cells {
		if cell == "" {
			continue
		}
		if i >= len(header) || header[i] == "" {
			return nil, fmt.Errorf("has %.40q in column %d, which has no name", cell, i+1)
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b, _ = jsontext.AppendQuote(b, header[i])
		b = append(b, ':')
		if value := jsontext.Value(strings.TrimSpace(cell)); isList(header[i]) && value.IsValid() {
			b = append(b, value...)
			continue
		}
		var err error
		if b, err = jsontext.AppendQuote(b, cell); err != nil {
			return nil, fmt.Errorf("%s: is not valid UTF-8", header[i])
		}
	}
	return append(b, '}'), nil
}

// isList reports whether the cells of a column are written as in JSON.
func isList(column string) bool {
	return slices.Contains([]string{"taskindex", "messages", "options", "optiontexts", "tests", "metadata"}, folded(column))
}
