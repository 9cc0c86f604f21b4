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
)

// column is a tagged field of a struct.
type column struct {
	name  string
	index []int
	maybe bool // a file may lack it
}

// columnsOf lists the columns of a struct. Fields of a struct without a tag stand in its
// place; another field without one is no column.
func columnsOf(row reflect.Type, at ...int) (all []column) {
	for i := range row.NumField() {
		field, index := row.Field(i), append(slices.Clone(at), i)
		tag := cmp.Or(field.Tag.Get("csv"), field.Tag.Get("parquet"))
		if name, option, _ := strings.Cut(tag, ","); name != "" {
			all = append(all, column{name, index, option == "maybe"})
		} else if field.Type.Kind() == reflect.Struct {
			all = append(all, columnsOf(field.Type, index...)...)
		}
	}
	return all
}

// Decode reads the rows of a CSV file, as [Parse] does, into structs whose fields are tagged
// `csv:"name"`, or `parquet:"name"` as in Parquet files. Fields are texts, whole numbers
// ("12.0" is one, as pandas writes columns with gaps), float64, bool and durations, whose
// column's name ends in the unit: _ns, _us or _ms; a pointer to one is nil where the cell is
// empty. A file may lack a column with the option maybe. numbers are the numbers of the
// rows, which have no fault.
func Decode[T any](data []byte) (rows []T, numbers []int, faults []error) {
	columns := columnsOf(reflect.TypeFor[T]())
	var required, optional []string
	for _, c := range columns {
		if c.maybe {
			optional = append(optional, c.name)
		} else {
			required = append(required, c.name)
		}
	}
	records, faults := Parse(data, required, optional...)
	names := slices.Concat(required, optional)
	for _, record := range records {
		var row T
		before := len(faults)
		for _, c := range columns {
			text := record.Fields[slices.Index(names, c.name)]
			if err := c.set(reflect.ValueOf(&row).Elem().FieldByIndex(c.index), text); err != nil {
				faults = append(faults, fmt.Errorf("row %d: %s %q is %w", record.Number, c.name, strings.TrimSpace(text), err))
			}
		}
		if len(faults) == before {
			rows, numbers = append(rows, row), append(numbers, record.Number)
		}
	}
	return rows, numbers, faults
}

// set sets a field to the value of a cell. The error continues a sentence: "not a number".
func (c column) set(field reflect.Value, text string) (err error) {
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
		field.SetString(text)
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
