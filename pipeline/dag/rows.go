package dag

import (
	"io"

	"speceval/internal/store/rowfile"
)

// WriteRows writes the rows of an output as Parquet.
func WriteRows[T any](job *Job, output, schema string, rows []T) error {
	return job.Write(output, len(rows), func(w io.Writer) error { return rowfile.Write(w, rows, job.Footer(schema)) })
}

// ReadRows reads the rows of inputs, one input after the other.
func ReadRows[T any](job *Job, inputs ...string) (all []T, err error) {
	for _, input := range inputs {
		path, err := job.Input(input)
		if err != nil {
			return nil, err
		}
		rows, _, err := rowfile.ReadFile[T](path)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return all, nil
}
