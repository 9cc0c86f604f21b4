package fleet

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"

	"speceval/internal/store/csvfile"
)

// Names of the files of a calibration.
const (
	ModelsName  = "models.csv"
	LengthsName = "lengths.csv"
)

// column is a column of such a file, a field with a tag of its name, and the place of
// its value. The name of a time ends in its unit.
type column struct {
	name  string
	value any // a *string, *int, *float64 or *time.Duration
}

var units = map[string]time.Duration{"ns": time.Nanosecond, "us": time.Microsecond, "ms": time.Millisecond}

func (c column) unit() float64 { return float64(units[c.name[len(c.name)-2:]]) }

// columns are the columns of a pointer to a struct.
func columns(row any) (all []column) {
	v := reflect.ValueOf(row).Elem()
	for i := range v.NumField() {
		value := v.Field(i).Addr().Interface()
		if name := v.Type().Field(i).Tag.Get("csv"); name != "" {
			all = append(all, column{name, value})
		} else if timing, nested := value.(*Timing); nested {
			all = append(all, columns(timing)...)
		}
	}
	return all
}

// text is the value as the file has it.
func (c column) text() string {
	number := 0.0
	switch v := c.value.(type) {
	case *string:
		return *v
	case *int:
		return strconv.Itoa(*v)
	case *float64:
		number = *v
	case *time.Duration:
		number = float64(*v) / c.unit()
	}
	return strconv.FormatFloat(number, 'g', -1, 64)
}

// read sets the value.
func (c column) read(text string) (err error) {
	number := 0.0
	switch v := c.value.(type) {
	case *string:
		*v = text
	case *int:
		*v, err = strconv.Atoi(text)
	case *float64:
		*v, err = strconv.ParseFloat(text, 64)
	case *time.Duration:
		number, err = strconv.ParseFloat(text, 64)
		*v = time.Duration(math.Round(number * c.unit()))
	}
	return err
}

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

// parse appends the rows of a file.
func parse[T any](data []byte, file string, rows *[]T) error {
	records, faults := csvfile.Parse(data, names(columns(new(T))))
	if len(faults) > 0 {
		return fmt.Errorf("%s: %w", file, faults[0])
	}
	for _, record := range records {
		var row T
		for i, c := range columns(&row) {
			if err := c.read(record.Fields[i]); err != nil {
				return fmt.Errorf("%s: row %d: %s: %w", file, record.Number, c.name, err)
			}
		}
		*rows = append(*rows, row)
	}
	return nil
}

func names(columns []column) (all []string) {
	for _, c := range columns {
		all = append(all, c.name)
	}
	return all
}

// Files are the two files of a calibration, as ParseWorkload reads them.
func (w *Workload) Files() (models, lengths []byte) { return write(w.Models), write(w.Lengths) }

func write[T any](rows []T) []byte {
	var b bytes.Buffer
	out := csv.NewWriter(&b)
	out.Write(names(columns(new(T)))) // writes to a buffer do not fail
	for _, row := range rows {
		var texts []string
		for _, c := range columns(&row) {
			texts = append(texts, c.text())
		}
		out.Write(texts)
	}
	out.Flush()
	return b.Bytes()
}
