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

// Names of the files in messages.
const (
	ModelsName  = "models.csv"
	LengthsName = "lengths.csv"
)

// field is a column of a file and what it stands for in a T: a number between
// least and most, in the file's unit.
type field[T any] struct {
	name        string
	whole       bool
	least, most float64
	get         func(*T) float64
	set         func(*T, float64)
}

// parsedDuration is a column that holds a time in a unit.
func parsedDuration[T any](name string, unit time.Duration, at func(*T) *time.Duration) field[T] {
	return field[T]{name, false, 0, 1e6,
		func(t *T) float64 { return float64(*at(t)) / float64(unit) },
		func(t *T, v float64) { *at(t) = time.Duration(math.Round(v * float64(unit))) }}
}

// whole is a column that holds a whole number.
func whole[T any](name string, least float64, at func(*T) *int) field[T] {
	return field[T]{name, true, least, 1e6,
		func(t *T) float64 { return float64(*at(t)) },
		func(t *T, v float64) { *at(t) = int(v) }}
}

// real is a column that holds a number.
func real[T any](name string, least, most float64, at func(*T) *float64) field[T] {
	return field[T]{name, false, least, most,
		func(t *T) float64 { return *at(t) },
		func(t *T, v float64) { *at(t) = v }}
}

// modelFields are the columns of the models' file, after the model.
var modelFields = []field[Model]{
	parsedDuration("base_us", time.Microsecond, func(m *Model) *time.Duration { return &m.Timing.Base }),
	parsedDuration("sequence_us", time.Microsecond, func(m *Model) *time.Duration { return &m.Timing.Sequence }),
	parsedDuration("context_ns", time.Nanosecond, func(m *Model) *time.Duration { return &m.Timing.Context }),
	parsedDuration("late_ns", time.Nanosecond, func(m *Model) *time.Duration { return &m.Timing.Late }),
	parsedDuration("prompt_us", time.Microsecond, func(m *Model) *time.Duration { return &m.Timing.Prompt }),
	whole("max_sequences", 1, func(m *Model) *int { return &m.MaxSequences }),
	whole("max_tokens", 1, func(m *Model) *int { return &m.MaxTokens }),
	whole("thinking_tokens", 0, func(m *Model) *int { return &m.ThinkingTokens }),
	real("handling_ns", 0, 1e6, func(m *Model) *float64 { return &m.Handling }),
	parsedDuration("computation_ms", time.Millisecond, func(m *Model) *time.Duration { return &m.Computation }),
}

// lengthFields are the columns of the lengths' file, after benchmark and model.
var lengthFields = []field[Lengths]{
	real("pace", 0.1, 10, func(l *Lengths) *float64 { return &l.Pace }),
	whole("prompt_tokens", 0, func(l *Lengths) *int { return &l.Prompt }),
	real("location", -10, 20, func(l *Lengths) *float64 { return &l.Location }),
	real("hard", -10, 10, func(l *Lengths) *float64 { return &l.Hard }),
	real("noisy", -10, 10, func(l *Lengths) *float64 { return &l.Noisy }),
	real("task_spread", 0, 5, func(l *Lengths) *float64 { return &l.TaskSpread }),
	real("spread", 0.01, 5, func(l *Lengths) *float64 { return &l.Spread }),
	real("closing", 0, 1e5, func(l *Lengths) *float64 { return &l.Closing }),
	real("endless", 0, 1, func(l *Lengths) *float64 { return &l.Endless }),
	real("loop", 0, 1, func(l *Lengths) *float64 { return &l.Loop }),
}

// ParseWorkload reads a calibration: a CSV file of models and one of answer lengths.
// It checks ranges, and that every profile has its model.
func ParseWorkload(models, lengths []byte) (*Workload, error) {
	w := &Workload{}
	err := parse(models, ModelsName, []string{"model"}, modelFields, func(names []string, m Model) error {
		m.Model = names[0]
		m.Timing.After, m.Timing.Graphs = m.ThinkingTokens, true
		if _, twice := w.Model(m.Model); twice || m.Model == "" {
			return fmt.Errorf("model %q is empty or there twice", m.Model)
		}
		w.Models = append(w.Models, m)
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = parse(lengths, LengthsName, []string{"benchmark", "model"}, lengthFields, func(names []string, l Lengths) error {
		l.Benchmark, l.Model = names[0], names[1]
		if _, known := w.Model(l.Model); !known {
			return fmt.Errorf("model %q is not in %s", l.Model, ModelsName)
		}
		if w.Knows(l.Benchmark, l.Model) || l.Benchmark == "" {
			return fmt.Errorf("benchmark %q is empty or there twice for %s", l.Benchmark, l.Model)
		}
		w.Lengths = append(w.Lengths, l)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// parse reads rows of names and fields and hands them on.
func parse[T any](data []byte, file string, names []string, fields []field[T], add func([]string, T) error) error {
	columns := append([]string{}, names...)
	for _, f := range fields {
		columns = append(columns, f.name)
	}
	records, faults := csvfile.Parse(data, columns)
	if len(faults) > 0 {
		return fmt.Errorf("%s: %w", file, faults[0])
	}
	for _, record := range records {
		var row T
		for i, f := range fields {
			text := record.Fields[len(names)+i]
			v, err := strconv.ParseFloat(text, 64)
			if err != nil || !(v >= f.least && v <= f.most) || f.whole && v != math.Trunc(v) {
				kind := map[bool]string{true: "whole number", false: "number"}[f.whole]
				return fmt.Errorf("%s: row %d: %s %q is not a %s from %g to %g", file, record.Number, f.name, text, kind, f.least, f.most)
			}
			f.set(&row, v)
		}
		if err := add(record.Fields[:len(names)], row); err != nil {
			return fmt.Errorf("%s: row %d: %w", file, record.Number, err)
		}
	}
	if len(records) == 0 {
		return fmt.Errorf("%s: there are no rows", file)
	}
	return nil
}

// Files are the two files of a calibration, as Parse reads them.
func (w *Workload) Files() (models, lengths []byte) {
	var rows [][]string
	for i := range w.Models {
		rows = append(rows, row([]string{w.Models[i].Model}, modelFields, &w.Models[i]))
	}
	models = file(header([]string{"model"}, modelFields), rows)
	rows = nil
	for i := range w.Lengths {
		l := &w.Lengths[i]
		rows = append(rows, row([]string{l.Benchmark, l.Model}, lengthFields, l))
	}
	return models, file(header([]string{"benchmark", "model"}, lengthFields), rows)
}

func header[T any](names []string, fields []field[T]) []string {
	for _, f := range fields {
		names = append(names, f.name)
	}
	return names
}

func row[T any](names []string, fields []field[T], value *T) []string {
	for _, f := range fields {
		names = append(names, strconv.FormatFloat(f.get(value), 'g', -1, 64))
	}
	return names
}

func file(header []string, rows [][]string) []byte {
	var b bytes.Buffer
	out := csv.NewWriter(&b)
	out.Write(header)
	out.WriteAll(rows) // neither fails on a buffer
	return b.Bytes()
}
