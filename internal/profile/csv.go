package profile

import (
	"errors"
	"strconv"

	"speceval/internal/csvfile"
)

// Columns are those that a CSV file of profiles must have; scorerColumn may
// follow.
var Columns = []string{"benchmark", "model", "task_index", "task_id", "pass_count", "tested_k"}

const scorerColumn = "scorer"

// csvRows reads a CSV file with a header.
func csvRows(data []byte, faults *faults) []numbered {
	records, wrong := csvfile.Parse(data, Columns, scorerColumn)
	for _, err := range wrong {
		faults.add("%v", err)
	}
	var rows []numbered
	for _, record := range records {
		sound := true
		integer := func(column int) int32 {
			text := record.Fields[column]
			value, err := strconv.ParseInt(text, 10, 32)
			switch {
			case errors.Is(err, strconv.ErrRange):
				faults.add("row %d: %s %q is out of range", record.Number, Columns[column], text)
			case err != nil:
				faults.add("row %d: %s %q is not an integer", record.Number, Columns[column], text)
			}
			sound = sound && err == nil
			return int32(value)
		}
		f := record.Fields
		r := row{
			Benchmark: f[0], Model: f[1], TaskIndex: integer(2), TaskID: f[3],
			PassCount: integer(4), TestedK: integer(5), Scorer: f[6],
		}
		if sound {
			rows = append(rows, numbered{r, record.Number})
		}
	}
	return rows
}
