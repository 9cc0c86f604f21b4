package systems

import (
	"io"

	"speceval/internal/rowfile"
	"speceval/pipeline/dag"
)

// writeRows writes an output of rows.
func writeRows[T any](job *dag.Job, output, schema string, rows []T) error {
	return job.Write(output, len(rows), func(w io.Writer) error {
		return rowfile.Write(w, rows, job.Footer(schema))
	})
}

// readRows reads the rows of an input.
func readRows[T any](job *dag.Job, input string) ([]T, error) {
	path, err := job.Input(input)
	if err != nil {
		return nil, err
	}
	rows, _, err := rowfile.ReadFile[T](path)
	return rows, err
}
