package profile

import (
	"encoding/csv"
	"errors"
	"io"
	"strconv"

	"speceval/internal/csvfile"
)

// Columns are those that a CSV file of profiles must have; others may follow.
var Columns = []string{"benchmark", "model", "task_index", "task_id", "pass_count", "tested_k"}

// further are the columns that a file may lack, and rows of it may leave empty.
var further = []string{"scorer", "rewards", "squares", "prompt_tokens", "completion_tokens", "source", "allocated"}

// csvRows reads a CSV file with a header.
func csvRows(data []byte, faults *faults) []numbered {
	records, wrong := csvfile.Parse(data, Columns, further...)
	for _, err := range wrong {
		faults.add("%v", err)
	}
	var rows []numbered
	for _, record := range records {
		cells := &cells{fields: record.Fields, row: record.Number, faults: faults, sound: true}
		f := record.Fields
		r := row{
			plainRow: plainRow{Benchmark: f[0], Model: f[1], TaskIndex: int32(cells.integer(2, 32)), TaskID: f[3], PassCount: int32(cells.integer(4, 32)), TestedK: int32(cells.integer(5, 32))},
			Scorer:   &f[6],
			Rewards:  optional(cells, 7, cells.number), Squares: optional(cells, 8, cells.number),
			PromptTokens:     optional(cells, 9, func(at int) int64 { return cells.integer(at, 64) }),
			CompletionTokens: optional(cells, 10, func(at int) int64 { return cells.integer(at, 64) }),
			Source:           &f[11], Allocated: optional(cells, 12, cells.truth),
		}
		if cells.sound {
			rows = append(rows, numbered{r, record.Number})
		}
	}
	return rows
}

// cells are a row of CSV whose values are read.
type cells struct {
	fields []string
	row    int
	faults *faults
	sound  bool
}

// column is the name of a column.
func column(at int) string {
	if at < len(Columns) {
		return Columns[at]
	}
	return further[at-len(Columns)]
}

// optional is the value of a cell, nil if it is empty.
func optional[V any](c *cells, at int, read func(at int) V) *V {
	if c.fields[at] == "" {
		return nil
	}
	v := read(at)
	return &v
}

func (c *cells) integer(at, bits int) int64 {
	value, err := strconv.ParseInt(c.fields[at], 10, bits)
	c.check(at, err, "an integer")
	return value
}

func (c *cells) number(at int) float64 {
	value, err := strconv.ParseFloat(c.fields[at], 64)
	c.check(at, err, "a number")
	return value
}

func (c *cells) truth(at int) bool {
	value, err := strconv.ParseBool(c.fields[at])
	c.check(at, err, "true or false")
	return value
}

// check notes a fault of a cell.
func (c *cells) check(at int, err error, want string) {
	switch {
	case errors.Is(err, strconv.ErrRange):
		c.faults.add("row %d: %s %q is out of range", c.row, column(at), c.fields[at])
	case err != nil:
		c.faults.add("row %d: %s %q is not %s", c.row, column(at), c.fields[at], want)
	}
	c.sound = c.sound && err == nil
}

// WriteCSV writes profiles as a CSV file, as Write does a Parquet file.
func WriteCSV(w io.Writer, profiles []Profile) error {
	out := csv.NewWriter(w)
	wide := wider(profiles)
	header := append([]string{}, Columns...)
	if header = append(header, further[0]); wide {
		header = append(header, further[1:]...)
	}
	if err := out.Write(header); err != nil {
		return err
	}
	for _, r := range rowsOf(profiles) {
		line := []string{r.Benchmark, r.Model, decimal(int64(r.TaskIndex)), r.TaskID, decimal(int64(r.PassCount)), decimal(int64(r.TestedK)), *r.Scorer}
		if wide {
			line = append(line, cell(r.Rewards, real), cell(r.Squares, real), cell(r.PromptTokens, decimal), cell(r.CompletionTokens, decimal), *r.Source, cell(r.Allocated, strconv.FormatBool))
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// cell is a value as text, "" if there is none.
func cell[V any](v *V, text func(V) string) string {
	if v == nil {
		return ""
	}
	return text(*v)
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

func real(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
