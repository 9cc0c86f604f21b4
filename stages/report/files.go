package report

import (
	"fmt"
	"io"
	"strings"

	"speceval/internal/table"
	"speceval/pipeline/dag"
	"speceval/stages/report/model"
)

// TablePaths are the files of a table, relative to the output folder: CSV, then LaTeX.
func TablePaths(base string) []string {
	return []string{"tables/" + base + ".csv", "tables/" + base + ".tex"}
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
