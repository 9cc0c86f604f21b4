package benchmark

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"speceval/internal/csvfile"
)

// rows reads a file of CSV. The place of a row is the line where it begins.
func (r *reading) rows(data []byte) {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		r.faults.add("", "", "is UTF-16: save it as CSV in UTF-8")
		return
	}
	var header []string
	for row, err := range csvfile.Rows(data) {
		place := fmt.Sprintf("line %d", row.Line)
		if header == nil {
			if err == nil {
				err = r.header(place, row.Cells)
			}
			if err != nil {
				r.faults.add(place, "", "is no header: %v", err)
				return
			}
			header = row.Cells
			continue
		}
		if r.full(place) {
			return
		}
		if err != nil {
			r.skip(place, "is no record: %v", err)
		} else if fault := rowFault(row.Cells, header); fault != "" {
			r.skip(place, "%s", fault)
		} else {
			r.row(place, header, row.Cells)
		}
	}
	if header == nil || r.check.position == 0 {
		r.faults.add("", "", "is empty: a task file has a header with the keys, and a record a row")
	}
}

// header checks the names of columns. The error says why rows cannot be read by
// them; columns with other names are faults, and are passed over.
func (r *reading) header(place string, columns []string) error {
	if len(columns) == 1 && strings.ContainsAny(columns[0], ";\t") {
		return fmt.Errorf("it has one column, %.60q: cells are separated by commas", columns[0])
	}
	for i, name := range columns {
		switch {
		case slices.Contains(columns[:i], name):
			return fmt.Errorf("the column %.40q is there twice", name)
		case name == "":
			r.faults.add(place, fmt.Sprintf("column %d", i+1), "has no name")
		case !isKey(name):
			r.faults.add(place, fmt.Sprintf("%.40q", name), "is not a key of a task file")
		}
	}
	if slices.Contains(columns, "id") {
		r.idKey = "id"
	}
	for _, name := range []string{r.idKey, "prompt", "scorer"} {
		if !slices.Contains(columns, name) {
			if name == "task_id" {
				name = "id"
			}
			return fmt.Errorf("the column %s is missing, there are %.200q", name, columns)
		}
	}
	return nil
}

// rowFault is why a row cannot be read at all; "" if it can.
func rowFault(cells, header []string) string {
	size := 0
	for _, cell := range cells {
		size += len(cell)
	}
	switch {
	case size == 0:
		return "is empty"
	case size > maxRecord:
		return tooLong
	case len(cells) != len(header):
		return fmt.Sprintf("has %d cells, the header has %d", len(cells), len(header))
	}
	return ""
}

// row reads the record in a row.
func (r *reading) row(place string, header, cells []string) {
	r.record(place, func(set setter) error {
		for i, cell := range cells {
			if cell == "" || !isKey(header[i]) {
				continue
			}
			value, err := cellValue(header[i], cell)
			if err == nil {
				err = set(header[i], value)
			}
			if err != nil {
				r.faults.add(place, header[i], "%v", err)
			}
		}
		return nil
	})
}

// cellValue is the JSON value that a cell stands for.
func cellValue(key, cell string) (json.RawMessage, error) {
	if !utf8.ValidString(cell) {
		return nil, errors.New("is not valid UTF-8")
	}
	if isText(key) {
		return AppendString(nil, cell), nil
	}
	value := json.RawMessage(strings.TrimSpace(cell))
	if !json.Valid(value) {
		return nil, errors.New(`is not JSON: write a list as ["red","green"], and every quote of it twice in a cell in quotes`)
	}
	return value, nil
}
