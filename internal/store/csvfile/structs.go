package csvfile

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// column is a tagged field of a struct.
type column struct {
	name  string
	index []int
	maybe bool // a file may lack it
	at    int  // in a file that is read; -1: it is not there
}

// columnsOf lists the columns of a struct. Fields of a struct without a tag stand in its
// place; another field without one is no column.
func columnsOf(row reflect.Type, at ...int) (all []column) {
	for i := range row.NumField() {
		field, index := row.Field(i), append(slices.Clone(at), i)
		tag := cmp.Or(field.Tag.Get("csv"), field.Tag.Get("parquet"))
		if name, option, _ := strings.Cut(tag, ","); name != "" {
			all = append(all, column{name: name, index: index, maybe: option == "maybe"})
		} else if field.Type.Kind() == reflect.Struct {
			all = append(all, columnsOf(field.Type, index...)...)
		}
	}
	return all
}

// Decode reads the rows of a CSV file into structs whose fields are tagged `csv:"name"`, or
// `parquet:"name"` as in Parquet files. Columns may stand in any order, and further ones are
// passed over. Fields are texts, whole numbers ("12.0" is one, as pandas writes columns with
// gaps), float64, bool and durations, whose column's name ends in the unit: _ns, _us or _ms; a
// pointer to one is nil where the cell is empty. A file may lack a column with the option maybe.
//
// To lack another column is a fault, as is a row of another length, or a cell that is not of its
// field or not UTF-8. All faults are returned, each with its row but without the name of the file,
// unless they are more than a thousand. rows are those without fault, and numbers their numbers,
// from 1.
func Decode[T any](data []byte) (rows []T, numbers []int, faults []error) {
	columns := columnsOf(reflect.TypeFor[T]())
	var header []string
	number := -1
	for line, err := range Rows(data) {
		number++
		switch {
		case header == nil && err != nil:
			return nil, nil, []error{fmt.Errorf("header: %w", err)}
		case header == nil:
			header = line.Cells
			for i, name := range header {
				header[i] = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), " ", "_") // Task ID
			}
			if faults = locate(header, columns); len(faults) > 0 {
				return nil, nil, faults
			}
			continue
		case len(faults) >= maxFaults:
			return rows, numbers, append(faults, fmt.Errorf("row %d and those after it were not read: there are too many faults", number))
		case number > MaxRecords:
			return rows, numbers, append(faults, fmt.Errorf("row %d is one too many: a file has at most %d", number, MaxRecords))
		case err == nil && strings.TrimSpace(strings.Join(line.Cells, "")) == "": // a blank row of a spreadsheet
			continue
		case err == nil && len(line.Cells) != len(header):
			err = fmt.Errorf("%d fields, the header has %d", len(line.Cells), len(header))
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("row %d: %w", number, err))
			continue
		}
		var row T
		before := len(faults)
		for _, c := range columns {
			if c.at < 0 {
				continue
			}
			text := line.Cells[c.at]
			if err := c.set(reflect.ValueOf(&row).Elem().FieldByIndex(c.index), text); err != nil {
				faults = append(faults, fmt.Errorf("row %d: %s %q is %w", number, c.name, strings.TrimSpace(text), err))
			}
		}
		if len(faults) == before {
			rows, numbers = append(rows, row), append(numbers, number)
		}
	}
	if header == nil {
		return nil, nil, []error{fmt.Errorf("the file is empty, expected a header with the columns %s", strings.Join(required(columns), ", "))}
	}
	return rows, numbers, faults
}

// required are the names of the columns that a file may not lack.
func required(columns []column) (names []string) {
	for _, c := range columns {
		if !c.maybe {
			names = append(names, c.name)
		}
	}
	return names
}

// locate sets the position of every column in the header, -1 of one that is not there and may be
// lacking.
func locate(header []string, columns []column) (faults []error) {
	for i := range columns {
		c := &columns[i]
		c.at = slices.Index(header, c.name)
		switch {
		case c.at < 0 && !c.maybe:
			faults = append(faults, fmt.Errorf("column %s is missing (the header is %q)", c.name, header))
		case c.at >= 0 && slices.Contains(header[c.at+1:], c.name):
			faults = append(faults, fmt.Errorf("column %s is there twice", c.name))
		}
	}
	return faults
}

// set sets a field to the value of a cell. The error continues a sentence: "not a number".
func (c column) set(field reflect.Value, text string) (err error) {
	if !utf8.ValidString(text) {
		return errors.New("not valid UTF-8")
	}
	if field.Kind() == reflect.Pointer {
		if text == "" {
			return nil
		}
		field.Set(reflect.New(field.Type().Elem()))
		field = field.Elem()
	}
	want := "a number"
	switch text := strings.TrimSpace(text); field.Interface().(type) {
	case time.Duration:
		var v float64
		v, err = strconv.ParseFloat(text, 64)
		field.SetInt(int64(math.Round(v * c.unit())))
	case float64:
		var v float64
		v, err = strconv.ParseFloat(text, 64)
		field.SetFloat(v)
	case bool:
		var v bool
		v, err = strconv.ParseBool(text)
		field.SetBool(v)
		want = "true or false"
	case int, int32, int64:
		digits, zeros, _ := strings.Cut(text, ".")
		if strings.Trim(zeros, "0") != "" {
			digits = text
		}
		var v int64
		v, err = strconv.ParseInt(digits, 10, field.Type().Bits())
		field.SetInt(v)
		want = "an integer"
	}
	if field.Kind() == reflect.String {
		field.SetString(strings.TrimSpace(text))
	}
	switch {
	case errors.Is(err, strconv.ErrRange):
		return errors.New("out of range")
	case err != nil:
		return errors.New("not " + want)
	}
	return nil
}

// unit is the unit of a duration in nanoseconds, by the end of the column's name.
func (c column) unit() float64 {
	return map[string]float64{"_ns": 1, "_us": 1e3, "_ms": 1e6}[c.name[max(0, len(c.name)-3):]]
}

// Write writes rows as a CSV file with a header, as [Decode] reads it.
func Write[T any](w io.Writer, rows []T) error {
	columns := columnsOf(reflect.TypeFor[T]())
	line := make([]string, len(columns))
	for i, c := range columns {
		line[i] = c.name
	}
	out := csv.NewWriter(w)
	_ = out.Write(line) // its errors are kept
	for _, row := range rows {
		for i, c := range columns {
			line[i] = c.text(reflect.ValueOf(row).FieldByIndex(c.index))
		}
		_ = out.Write(line)
	}
	out.Flush()
	return out.Error()
}

// text is the value of a field as a cell.
func (c column) text(field reflect.Value) string {
	if field.Kind() == reflect.Pointer {
		if field.IsNil() {
			return ""
		}
		field = field.Elem()
	}
	number := 0.0
	switch v := field.Interface().(type) {
	case time.Duration:
		number = float64(v) / c.unit()
	case float64:
		number = v
	default:
		return fmt.Sprint(v)
	}
	return strconv.FormatFloat(number, 'g', -1, 64)
}
