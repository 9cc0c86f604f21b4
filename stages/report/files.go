package report

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"speceval/internal/table"
	"speceval/pipeline/dag"
	"speceval/stages/report/model"
)

// TablesFolder is the part of the output folder that holds the tables.
const TablesFolder = "tables"

// TablePaths are the files of a table, relative to the output folder: CSV, then LaTeX.
func TablePaths(base string) []string {
	return []string{TablesFolder + "/" + base + ".csv", TablesFolder + "/" + base + ".tex"}
}

// WriteTable writes both forms of a table. The first line of the LaTeX is its Origin; CSV
// has no comments.
func WriteTable(job *dag.Job, s *model.Sheet) error {
	data, paths := s.Data(), TablePaths(s.Base)
	err := job.Write(paths[0], len(data.Rows), func(w io.Writer) error { return table.CSV(w, data) })
	if err != nil {
		return err
	}
	return job.Write(paths[1], -1, func(w io.Writer) error { return table.LaTeX(w, s.Print(), TableOrigin(job)) })
}

// TableOrigin is the first comment of a LaTeX file: the command, commit and key that it
// was made by, and which of its inputs were edited or damaged since they were made.
func TableOrigin(job *dag.Job) string {
	altered := ""
	if names := job.Altered(); len(names) > 0 {
		altered = "; made from what was not as recorded: " + strings.Join(names, ", ")
	}
	return fmt.Sprintf("command: %s; commit: %s%s; key: %s", job.Command(), job.Commit(), altered, job.Key())
}

// StoredTable is a stored table.
type StoredTable struct {
	Base    string // file name in Folder, without extension
	Columns []string
	Rows    [][]string // a field for each column
	Labels  []string   // the names of the rows
}

// mostBytes is the size beyond which a file is refused as a table.
const mostBytes = 64 << 20

// ReadTable reads a stored table. The label of a row is model.RowLabel of the keys. The
// error wraps fs.ErrNotExist where the table is not stored.
func ReadTable(outDir, base string, keys []model.Column) (StoredTable, error) {
	path := filepath.Join(outDir, TablesFolder, base+".csv")
	info, err := os.Stat(path)
	if err != nil {
		return StoredTable{}, err
	}
	if !info.Mode().IsRegular() || info.Size() > mostBytes {
		return StoredTable{}, fmt.Errorf("%s: %d bytes (%s) are no table", path, info.Size(), info.Mode())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return StoredTable{}, err
	}
	t, err := parseTable(base, data, keys)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return t, err
}

// parseTable reads the CSV form of a table.
func parseTable(base string, data []byte, keys []model.Column) (t StoredTable, err error) {
	t.Base = base
	if t.Columns, t.Rows, err = table.ReadCSV(data); err != nil {
		return t, err
	}
	for i := range t.Rows {
		fields := t.Fields(i)
		t.Labels = append(t.Labels, model.RowLabel(keys, func(c model.Column) string { return fields[c.Name] }))
	}
	return t, nil
}

// Distinct returns an error unless every row has a label of its own.
func (t StoredTable) Distinct() error {
	seen := map[string]int{}
	for i, label := range t.Labels {
		if before, twice := seen[label]; twice {
			return fmt.Errorf("rows %d and %d are both %q", before, i+1, label)
		}
		seen[label] = i + 1
	}
	return nil
}

// Fields is a row by the names of columns.
func (t StoredTable) Fields(row int) map[string]string {
	fields := make(map[string]string, len(t.Columns))
	for j, column := range t.Columns {
		fields[column] = t.Rows[row][j]
	}
	return fields
}

// Number is the number in a field; ok is false for text, for nothing, and for what
// is not finite.
func Number(field string) (v float64, ok bool) {
	v, err := strconv.ParseFloat(field, 64)
	return v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
}
