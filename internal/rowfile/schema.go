package rowfile

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/schema"
)

// column is a tagged field of a row struct.
type column struct {
	name     string
	field    []int        // index in the struct, and within those embedded in it
	kind     reflect.Type // type of the value, behind the pointer if optional
	optional bool
	lenient  bool  // a file may lack it
	codec    codec // in the physical type that is written
}

// columnsOf lists the columns of a row struct in the order of its fields. The
// fields of an embedded struct stand in its place.
func columnsOf(row reflect.Type) ([]column, error) {
	if row.Kind() != reflect.Struct {
		return nil, fmt.Errorf("rowfile: row type %s is not a struct", row)
	}
	columns, err := fieldColumns(row, nil)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, c := range columns {
		if seen[c.name] {
			return nil, fmt.Errorf("rowfile: row type %s has two columns %s", row, c.name)
		}
		seen[c.name] = true
	}
	return columns, nil
}

// fieldColumns lists the columns of a struct that is found at an index of the
// row struct.
func fieldColumns(row reflect.Type, at []int) ([]column, error) {
	var columns []column
	for i := range row.NumField() {
		field, index := row.Field(i), append(slices.Clone(at), i)
		tag, tagged := field.Tag.Lookup("parquet")
		name, option, _ := strings.Cut(tag, ",")
		if field.Anonymous && !tagged && field.Type.Kind() == reflect.Struct {
			embedded, err := fieldColumns(field.Type, index)
			if err != nil {
				return nil, err
			}
			columns = append(columns, embedded...)
			continue
		}
		if name == "-" { // as in encoding/json: it is no column
			continue
		}
		if !tagged || !field.IsExported() {
			return nil, fmt.Errorf("rowfile: field %s.%s needs to be exported and to have a parquet tag", row, field.Name)
		}
		kind, optional := field.Type, field.Type.Kind() == reflect.Pointer
		if optional {
			kind = kind.Elem()
		}
		codecs := codecsFor(kind)
		if codecs == nil {
			return nil, fmt.Errorf("rowfile: field %s.%s has type %s, want string, bool, int32, int64, float64, time.Time or a pointer to one", row, field.Name, field.Type)
		}
		if option != "" && (option != "maybe" || !optional) {
			return nil, fmt.Errorf("rowfile: field %s.%s has the option %q: there is maybe, of pointers", row, field.Name, option)
		}
		columns = append(columns, column{name: name, field: index, kind: kind, optional: optional, lenient: option != "", codec: codecs[0]})
	}
	return columns, nil
}

// codecsFor lists the physical types that a Go type is read from. The first
// is the one that is written; the others are there because pandas, Polars and
// DuckDB write small integers in 64 bits.
func codecsFor(kind reflect.Type) []codec {
	switch kind {
	case reflect.TypeFor[string]():
		return []codec{typed[string, parquet.ByteArray]{parquet.Types.ByteArray, encodeString, decodeString}}
	case reflect.TypeFor[bool]():
		return []codec{typed[bool, bool]{parquet.Types.Boolean, same[bool], same[bool]}}
	case reflect.TypeFor[float64]():
		return []codec{typed[float64, float64]{parquet.Types.Double, same[float64], same[float64]}}
	case reflect.TypeFor[int32]():
		return []codec{
			typed[int32, int32]{parquet.Types.Int32, same[int32], same[int32]},
			typed[int32, int64]{parquet.Types.Int64, widen, narrow},
		}
	case reflect.TypeFor[int64]():
		return []codec{
			typed[int64, int64]{parquet.Types.Int64, same[int64], same[int64]},
			typed[int64, int32]{parquet.Types.Int32, narrow, widen},
		}
	case reflect.TypeFor[time.Time]():
		return []codec{typed[time.Time, int64]{parquet.Types.Int64, encodeMoment, decodeMoment}}
	}
	return nil
}

func encodeMoment(t time.Time, _ int64) (int64, error) { return t.UnixMicro(), nil }

func decodeMoment(microseconds int64, _ time.Time) (time.Time, error) {
	return time.UnixMicro(microseconds).UTC(), nil
}

// momentType is what Parquet calls a moment to the microsecond.
var momentType = schema.NewTimestampLogicalType(true, schema.TimeUnitMicros)

func same[V any](v, _ V) (V, error) { return v, nil }

func widen(v int32, _ int64) (int64, error) { return int64(v), nil }

func narrow(v int64, _ int32) (int32, error) {
	if v < math.MinInt32 || v > math.MaxInt32 {
		return 0, fmt.Errorf("%d does not fit in 32 bits", v)
	}
	return int32(v), nil
}

// Texts that repeat, as in columns that name the benchmark, the model or the
// task, are kept once.

func encodeString(s string, before parquet.ByteArray) (parquet.ByteArray, error) {
	if before != nil && s == string(before) { // nil and empty give other statistics
		return before, nil
	}
	if !utf8.ValidString(s) {
		return nil, fmt.Errorf("%.100q is not valid UTF-8", s)
	}
	return parquet.ByteArray(s), nil
}

func decodeString(b parquet.ByteArray, before string) (string, error) {
	if string(b) == before {
		return before, nil
	}
	if !utf8.Valid(b) {
		return "", fmt.Errorf("%.100q is not valid UTF-8", []byte(b))
	}
	return string(b), nil
}

// schemaOf is the Parquet schema of the columns.
func schemaOf(columns []column) (*schema.GroupNode, error) {
	var fields schema.FieldList
	for _, c := range columns {
		repetition := parquet.Repetitions.Required
		if c.optional {
			repetition = parquet.Repetitions.Optional
		}
		logical := schema.LogicalType(schema.NoLogicalType{})
		switch c.kind {
		case reflect.TypeFor[string]():
			logical = schema.StringLogicalType{}
		case reflect.TypeFor[time.Time]():
			logical = momentType
		}
		node, err := schema.NewPrimitiveNodeLogical(c.name, repetition, logical, c.codec.physical(), -1, -1)
		if err != nil {
			return nil, fmt.Errorf("rowfile: column %s: %w", c.name, err)
		}
		fields = append(fields, node)
	}
	return schema.NewGroupNode("rows", parquet.Repetitions.Required, fields, -1)
}
