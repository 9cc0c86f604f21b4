package fleet

import (
	"bytes"
	"fmt"

	"speceval/internal/store/csvfile"
)

// Names of the files of a calibration.
const (
	ModelsName  = "models.csv"
	LengthsName = "lengths.csv"
)

// ParseWorkload reads a calibration: a CSV file of models and one of answer lengths.
func ParseWorkload(models, lengths []byte) (*Workload, error) {
	w := &Workload{}
	if err := parse(models, ModelsName, &w.Models); err != nil {
		return nil, err
	}
	for i := range w.Models {
		t := &w.Models[i].Timing
		t.After, t.Graphs = w.Models[i].ThinkingTokens, true
	}
	if err := parse(lengths, LengthsName, &w.Lengths); err != nil {
		return nil, err
	}
	return w, nil
}

// parse sets rows to the rows of a file.
func parse[T any](data []byte, file string, rows *[]T) error {
	var faults []error
	if *rows, _, faults = csvfile.Decode[T](data); len(faults) > 0 {
		return fmt.Errorf("%s: %w", file, faults[0])
	}
	return nil
}

// Files are the two files of a calibration, as ParseWorkload reads them.
func (w *Workload) Files() (models, lengths []byte) { return write(w.Models), write(w.Lengths) }

func write[T any](rows []T) []byte {
	var b bytes.Buffer
	_ = csvfile.Write(&b, rows) // a buffer takes everything
	return b.Bytes()
}
