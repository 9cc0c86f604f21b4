package table

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
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
