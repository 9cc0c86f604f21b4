package fleet

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"strconv"
	"time"

	"speceval/internal/csvfile"
)

// Names of the files of a calibration.
const (
	ModelsName  = "models.csv"
	LengthsName = "lengths.csv"
)

// column is a column of such a file and the value of a row that it holds: a
// *string, *int, *float64, or a *time.Duration in a unit.
type column struct {
	name  string
	value any
	unit  time.Duration
}

// columns are those of the models' file.
func (m *Model) columns() []column {
	return []column{
		{name: "model", value: &m.Model},
		{"base_us", &m.Timing.Base, time.Microsecond},
		{"sequence_us", &m.Timing.Sequence, time.Microsecond},
		{"context_ns", &m.Timing.Context, time.Nanosecond},
		{"late_ns", &m.Timing.Late, time.Nanosecond},
		{"prompt_us", &m.Timing.Prompt, time.Microsecond},
		{name: "max_sequences", value: &m.MaxSequences},
		{name: "max_tokens", value: &m.MaxTokens},
		{name: "thinking_tokens", value: &m.ThinkingTokens},
		{name: "handling_ns", value: &m.Handling},
		{"computation_ms", &m.Computation, time.Millisecond},
	}
}

// columns are those of the lengths' file.
func (l *Lengths) columns() []column {
	return []column{
		{name: "benchmark", value: &l.Benchmark}, {name: "model", value: &l.Model}, {name: "pace", value: &l.Pace},
		{name: "prompt_tokens", value: &l.Prompt}, {name: "location", value: &l.Location}, {name: "hard", value: &l.Hard},
		{name: "noisy", value: &l.Noisy}, {name: "task_spread", value: &l.TaskSpread}, {name: "spread", value: &l.Spread},
		{name: "closing", value: &l.Closing}, {name: "endless", value: &l.Endless}, {name: "loop", value: &l.Loop},
	}
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
		number = float64(*v) / float64(c.unit)
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
		*v = time.Duration(math.Round(number * float64(c.unit)))
	}
	return err
}

// ParseWorkload reads a calibration: a CSV file of models and one of answer lengths.
func ParseWorkload(models, lengths []byte) (*Workload, error) {
	w := &Workload{}
	err := parse(models, ModelsName, (*Model).columns, func(m Model) {
		m.Timing.After, m.Timing.Graphs = m.ThinkingTokens, true
		w.Models = append(w.Models, m)
	})
	if err != nil {
		return nil, err
	}
	err = parse(lengths, LengthsName, (*Lengths).columns, func(l Lengths) { w.Lengths = append(w.Lengths, l) })
	if err != nil {
		return nil, err
	}
	return w, nil
}

// parse reads rows and hands them on.
func parse[T any](data []byte, file string, columns func(*T) []column, add func(T)) error {
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
		add(row)
	}
	return nil
}

func names(columns []column) []string {
	var all []string
	for _, c := range columns {
		all = append(all, c.name)
	}
	return all
}

// Files are the two files of a calibration, as ParseWorkload reads them.
func (w *Workload) Files() (models, lengths []byte) {
	return write(w.Models, (*Model).columns), write(w.Lengths, (*Lengths).columns)
}

func write[T any](rows []T, columns func(*T) []column) []byte {
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
