package rowfile

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/schema"
)

// codec moves the values of one Go type to and from one physical type.
type codec interface {
	physical() parquet.Type
	write(chunk file.ColumnChunkWriter, rows reflect.Value, c column) error
	// read sets field c of every row. An error of one row comes with its index,
	// another with -1.
	read(chunk file.ColumnChunkReader, rows reflect.Value, c column) (int, error)
}

// typed is the codec between the Go type G and the library's type P.
type typed[G, P any] struct {
	parquetType parquet.Type
	encode      translator[G, P]
	decode      translator[P, G]
}

// translator turns a value into one of another type. It is given what it made
// of the value before, whose memory an equal one may share.
type translator[From, To any] func(value From, before To) (To, error)

func (t typed[G, P]) physical() parquet.Type { return t.parquetType }

func (t typed[G, P]) write(chunk file.ColumnChunkWriter, rows reflect.Value, c column) error {
	writer, ok := chunk.(interface {
		WriteBatch(values []P, defLevels, repLevels []int16) (int64, error)
	})
	if !ok {
		return fmt.Errorf("%T does not take %s", chunk, t.parquetType)
	}
	present := make([]P, 0, rows.Len())
	var levels []int16 // 1 where an optional column has a value
	var encoded P
	for i := range rows.Len() {
		cell := rows.Index(i).FieldByIndex(c.field).Addr().Interface()
		value, ok := cell.(*G)
		if !ok {
			value = *cell.(**G)
			levels = append(levels, 0)
		}
		if value == nil {
			continue
		}
		if !ok {
			levels[i] = 1
		}
		var err error
		if encoded, err = t.encode(*value, encoded); err != nil {
			return fmt.Errorf("row %d: %w", i+1, err)
		}
		present = append(present, encoded)
	}
	_, err := writer.WriteBatch(present, levels, nil)
	return err
}

func (t typed[G, P]) read(chunk file.ColumnChunkReader, rows reflect.Value, c column) (int, error) {
	reader, ok := chunk.(interface {
		ReadBatch(batchSize int64, values []P, defLvls, repLvls []int16) (int64, int, error)
	})
	if !ok {
		return -1, fmt.Errorf("%T does not give %s", chunk, t.parquetType)
	}
	const batch = 8192
	buffer, levels := make([]P, batch), make([]int16, batch)
	if chunk.Descriptor().MaxDefinitionLevel() == 0 {
		levels = nil
	}
	var value G
	for total := 0; total < rows.Len(); {
		n, _, err := reader.ReadBatch(int64(min(batch, rows.Len()-total)), buffer, levels, nil)
		if err == nil {
			err = chunk.Err()
		}
		if err == nil && n == 0 {
			err = fmt.Errorf("only %d of %d rows are there", total, rows.Len())
		}
		if err != nil {
			return -1, fmt.Errorf("damaged Parquet file: %w", err)
		}
		next := 0
		for i := range int(n) {
			if levels != nil && levels[i] != 1 {
				if !c.optional {
					return total + i, errNull
				}
				continue
			}
			if value, err = t.decode(buffer[next], value); err != nil {
				return total + i, err
			}
			next++
			switch cell := rows.Index(total + i).FieldByIndex(c.field).Addr().Interface().(type) {
			case *G:
				*cell = value
			case **G:
				copied := value
				*cell = &copied
			}
		}
		total += int(n)
	}
	return 0, nil
}

var errNull = errors.New("null in a column that needs a value")

// column is a tagged field of a row struct.
type column struct {
	name     string
	field    []int        // index in the struct, and within those embedded in it
	kind     reflect.Type // type of the value, behind the pointer if optional
	optional bool
	lenient  bool  // a file may lack it
	codec    codec // in the physical type that is written, or that a file has
	index    int   // in a file that is read
}

// columnsOf lists the columns of a row struct, or of a struct at an index of it, in the
// order of its fields. The fields of an embedded struct stand in its place.
func columnsOf(row reflect.Type, at ...int) ([]column, error) {
	var columns []column
	for i := range row.NumField() {
		field, index := row.Field(i), append(slices.Clone(at), i)
		tag, tagged := field.Tag.Lookup("parquet")
		name, option, _ := strings.Cut(tag, ",")
		if field.Anonymous && !tagged && field.Type.Kind() == reflect.Struct {
			embedded, err := columnsOf(field.Type, index...)
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
			return nil, fmt.Errorf("rowfile: field %s.%s has type %s, want string, bool, int32, int64, float64 or a pointer to one", row, field.Name, field.Type)
		}
		if option != "" && option != "maybe" {
			return nil, fmt.Errorf("rowfile: field %s.%s has the option %q: there is maybe", row, field.Name, option)
		}
		columns = append(columns, column{name: name, field: index, kind: kind, optional: optional, lenient: option != "", codec: codecs[0]})
	}
	return columns, nil
}

// repeats reports whether a column has texts whose dictionary stays below the library's usual
// bound: each different text of the rows, and four bytes for its length.
func (c column) repeats(rows reflect.Value) bool {
	if c.kind != reflect.TypeFor[string]() {
		return false
	}
	seen, bytes := make(map[string]bool), int64(0)
	for i := range rows.Len() {
		text := reflect.Indirect(rows.Index(i).FieldByIndex(c.field))
		if !text.IsValid() || seen[text.String()] { // the first is a null
			continue
		}
		seen[text.String()] = true
		if bytes += int64(len(text.String())) + 4; bytes >= parquet.DefaultDictionaryPageSizeLimit {
			return false
		}
	}
	return true
}

// codecsFor lists the physical types that a Go type is read from. The first
// is the one that is written; the others are there because pandas, Polars and
// DuckDB write small integers in 64 bits, and sums and columns with nulls as floats.
func codecsFor(kind reflect.Type) []codec {
	switch kind {
	case reflect.TypeFor[string]():
		return []codec{
			typed[string, parquet.ByteArray]{parquet.Types.ByteArray, encodeString, decodeString},
			typed[string, int64]{parquet.Types.Int64, nil, decimal[int64]}, typed[string, int32]{parquet.Types.Int32, nil, decimal[int32]}, // ids
		}
	case reflect.TypeFor[bool]():
		return []codec{typed[bool, bool]{parquet.Types.Boolean, same[bool], same[bool]}}
	case reflect.TypeFor[float64]():
		return numbers[float64](parquet.Types.Double)
	case reflect.TypeFor[int32]():
		return numbers[int32](parquet.Types.Int32)
	case reflect.TypeFor[int64]():
		return numbers[int64](parquet.Types.Int64)
	}
	return nil
}

// numbers are the codecs of a Go type of numbers: its own physical type, and others that
// are read.
func numbers[G int32 | int64 | float64](own parquet.Type) []codec {
	return []codec{
		typed[G, G]{own, same[G], same[G]},
		typed[G, int32]{parquet.Types.Int32, nil, exactly[int32, G]}, typed[G, int64]{parquet.Types.Int64, nil, exactly[int64, G]},
		typed[G, float32]{parquet.Types.Float, nil, exactly[float32, G]}, typed[G, float64]{parquet.Types.Double, nil, exactly[float64, G]},
	}
}

// exactly is a number of one type as one of another, which must be able to hold it.
func exactly[From, To int32 | int64 | float32 | float64](v From, _ To) (To, error) {
	n := To(v)
	if nan := v != v && n != n; From(n) != v && !nan {
		return 0, fmt.Errorf("%v is no whole number of %d bits", v, reflect.TypeFor[To]().Bits())
	}
	return n, nil
}

// decimal is a whole number as a text.
func decimal[From int32 | int64](v From, _ string) (string, error) {
	return strconv.FormatInt(int64(v), 10), nil
}

func same[V any](v, _ V) (V, error) { return v, nil }

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
		if c.kind == reflect.TypeFor[string]() {
			logical = schema.StringLogicalType{}
		}
		node, err := schema.NewPrimitiveNodeLogical(c.name, repetition, logical, c.codec.physical(), -1, -1)
		if err != nil {
			return nil, fmt.Errorf("rowfile: column %s: %w", c.name, err)
		}
		fields = append(fields, node)
	}
	return schema.NewGroupNode("rows", parquet.Repetitions.Required, fields, -1)
}
