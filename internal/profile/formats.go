package profile

import (
	"encoding/csv"
	"errors"
	"io"
	"strconv"
	"strings"

	"speceval/internal/store/csvfile"
	"speceval/internal/store/rowfile"
)

// Columns are the columns that a CSV file of profiles must have; others may follow.
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

// integer is a whole number; "12.0" is one, too, as pandas writes columns with gaps.
func (c *cells) integer(at, bits int) int64 {
	c.fields[at] = strings.TrimSpace(c.fields[at])
	digits, zeros, _ := strings.Cut(c.fields[at], ".")
	if strings.Trim(zeros, "0") != "" {
		digits = c.fields[at]
	}
	value, err := strconv.ParseInt(digits, 10, bits)
	c.check(at, err, "an integer")
	return value
}

func (c *cells) number(at int) float64 {
	value, err := strconv.ParseFloat(strings.TrimSpace(c.fields[at]), 64)
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

// Schema is the value of the footer key speceval.schema of a profile file.
const Schema = "profiles/1"

// plainRow is the columns of every profile file (design, data/profiles.parquet).
type plainRow struct {
	Benchmark string `parquet:"benchmark"`
	Model     string `parquet:"model"`
	TaskIndex int32  `parquet:"task_index"` // 0-based, in benchmark order
	TaskID    string `parquet:"task_id"`
	PassCount int32  `parquet:"pass_count"`
	TestedK   int32  `parquet:"tested_k"`
}

// row is a row of a profile file with what it may lack.
type row struct {
	plainRow
	Scorer           *string  `parquet:"scorer,maybe"`
	Rewards          *float64 `parquet:"rewards,maybe"` // sum, pass_count if null
	Squares          *float64 `parquet:"squares,maybe"` // sum of squares
	PromptTokens     *int64   `parquet:"prompt_tokens,maybe"`
	CompletionTokens *int64   `parquet:"completion_tokens,maybe"`
	Source           *string  `parquet:"source,maybe"`
	Allocated        *bool    `parquet:"allocated,maybe"`
}

// narrowRow is a row of profiles that have nothing else.
type narrowRow struct {
	plainRow
	Scorer string `parquet:"scorer"`
}

// wider reports whether profiles have more than counts of passes.
func wider(profiles []Profile) bool {
	for _, p := range profiles {
		if p.Graded() || p.PromptTokens != nil || p.CompletionTokens != nil || p.Source != "" || p.Allocated {
			return true
		}
	}
	return false
}

// Write writes profiles as a Parquet file with the given footer, a row per
// task, in the order given.
func Write(w io.Writer, profiles []Profile, footer map[string]string) error {
	rows := rowsOf(profiles)
	if wider(profiles) {
		return rowfile.Write(w, rows, footer)
	}
	narrow := make([]narrowRow, len(rows))
	for i, r := range rows {
		narrow[i] = narrowRow{r.plainRow, *r.Scorer}
	}
	return rowfile.Write(w, narrow, footer)
}

// rowsOf is the rows of profiles, all columns of them.
func rowsOf(profiles []Profile) (rows []row) {
	for _, p := range profiles {
		for i, id := range p.TaskIDs {
			r := row{
				plainRow: plainRow{
					Benchmark: p.Benchmark, Model: p.Model, TaskIndex: int32(i), TaskID: id,
					PassCount: int32(p.PassCounts[i]), TestedK: int32(p.Rollouts(i)),
				},
				Scorer: &p.Scorer, Source: &p.Source, Allocated: &p.Allocated,
				PromptTokens: tokensOf(p.PromptTokens, i), CompletionTokens: tokensOf(p.CompletionTokens, i),
			}
			if p.Graded() {
				r.Rewards, r.Squares = &p.Rewards[i], &p.Squares[i]
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// tokensOf returns the tokens of task i, nil if they were not counted.
func tokensOf(tokens []int64, i int) *int64 {
	if tokens == nil || tokens[i] < 0 {
		return nil
	}
	return &tokens[i]
}

func parquetRows(data []byte, name string) ([]row, error) {
	rows, _, err := rowfile.Decode[row](data, name)
	return rows, err
}
