package made

import (
	"encoding/json"
	"errors"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/apache/arrow/go/v17/parquet/pqarrow"

	"speceval/internal/upstream"
)

// records writes a JSONL file, an object a line.
func (m *maker) records(s *upstream.Source, name string, records []any) error {
	file, err := m.create(s, name)
	if err != nil {
		return err
	}
	out := json.NewEncoder(file)
	for _, r := range records {
		if err := out.Encode(r); err != nil {
			return errors.Join(err, file.Close())
		}
	}
	return file.Close()
}

// rowsInGroup is small, so that a file has several row groups.
const rowsInGroup = 40

// table writes a Parquet file of rows with a value for each column: a string, an
// int64, a []string or nil.
func (m *maker) table(s *upstream.Source, name string, columns []arrow.Field, rows [][]any) error {
	file, err := m.create(s, name)
	if err != nil {
		return err
	}
	schema := arrow.NewSchema(columns, nil)
	properties := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Snappy), parquet.WithMaxRowGroupLength(rowsInGroup))
	out, err := pqarrow.NewFileWriter(schema, file, properties, pqarrow.DefaultWriterProps())
	if err != nil {
		return errors.Join(err, file.Close())
	}
	for len(rows) > 0 {
		n := min(rowsInGroup, len(rows))
		batch := record(schema, rows[:n])
		err := out.Write(batch)
		batch.Release()
		if err != nil {
			return errors.Join(err, out.Close())
		}
		rows = rows[n:]
	}
	return out.Close() // the file too
}

// record is rows as the library takes them.
func record(schema *arrow.Schema, rows [][]any) arrow.Record {
	builder := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer builder.Release()
	for _, row := range rows {
		for i, value := range row[:schema.NumFields()] {
			switch value := value.(type) {
			case nil:
				builder.Field(i).AppendNull()
			case string:
				builder.Field(i).(*array.StringBuilder).Append(value)
			case int:
				builder.Field(i).(*array.Int64Builder).Append(int64(value))
			case []string:
				list := builder.Field(i).(*array.ListBuilder)
				list.Append(true)
				list.ValueBuilder().(*array.StringBuilder).AppendValues(value, nil)
			}
		}
	}
	return builder.NewRecord()
}

// Columns of the files.
func text(name string) arrow.Field {
	return arrow.Field{Name: name, Type: arrow.BinaryTypes.String, Nullable: true}
}
func integer(name string) arrow.Field {
	return arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int64, Nullable: true}
}
func texts(name string) arrow.Field {
	return arrow.Field{Name: name, Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true}
}
