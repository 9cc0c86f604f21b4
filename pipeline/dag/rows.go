package dag

import (
	"io"

	"speceval/internal/store/rowfile"
)

// WriteRows writes the rows of an output as Parquet.
func WriteRows[T any](job *Job, output, schema string, rows []T) error {
	return job.Write(output, len(rows), func(w io.Writer) error { return rowfile.Write(w, rows, job.Footer(schema)) })
}

// ReadRows reads the rows of an input.
func ReadRows[T any](job *Job, input string) ([]T, error) {
	path, err := job.Input(input)
	if err != nil {
		return nil, err
	}
	rows, _, err := rowfile.ReadFile[T](path)
	return rows, err
}
