package rowfile

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/file"
)

// codec moves the values of one Go type to and from one physical type.
type codec interface {
	physical() parquet.Type
	write(chunk file.ColumnChunkWriter, rows reflect.Value, c column) error
	read(chunk file.ColumnChunkReader, count int, room *room) (values, error)
}

// values is a decoded column of a row group.
type values interface {
	// store sets field c of every row. An error comes with the 0-based row
	// at which it stopped.
	store(rows reflect.Value, c column) (int, error)
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

func (t typed[G, P]) read(chunk file.ColumnChunkReader, count int, room *room) (values, error) {
	reader, ok := chunk.(interface {
		ReadBatch(batchSize int64, values []P, defLvls, repLvls []int16) (int64, int, error)
	})
	if !ok {
		return nil, fmt.Errorf("%T does not give %s", chunk, t.parquetType)
	}
	const batch = 8192 // grow by what is there, not by what the file claims
	all := decoded[G, P]{decode: t.decode}
	buffer, levels := make([]P, batch), make([]int16, batch)
	if chunk.Descriptor().MaxDefinitionLevel() == 0 {
		levels = nil
	}
	text := 0
	for total := int64(0); total < int64(count); {
		n, present, err := reader.ReadBatch(min(batch, int64(count)-total), buffer, levels, nil)
		if err == nil {
			err = chunk.Err()
		}
		if err == nil && n == 0 {
			err = fmt.Errorf("only %d of %d rows are there", total, count)
		}
		if err != nil {
			return nil, fmt.Errorf("damaged Parquet file: %w", err)
		}
		more := textBytes(buffer[:present])
		if text += more; text > maxGroupText {
			return nil, fmt.Errorf("a row group has more than %d bytes of text, write the file with smaller ones", maxGroupText)
		}
		if err := room.take(1, int64(more)); err != nil {
			return nil, err
		}
		all.present = append(all.present, buffer[:present]...)
		if levels != nil {
			all.levels = append(all.levels, levels[:n]...)
		}
		total += n
	}
	return all, nil
}

// textBytes is the length of values that are texts. A damaged file can claim
// that a long one is there a million times.
func textBytes[P any](batch []P) (n int) {
	texts, _ := any(batch).([]parquet.ByteArray)
	for _, text := range texts {
		n += len(text)
	}
	return n
}

// decoded is a column of a row group: the values that are present and, if the
// file's column may hold nulls, for each row whether (1) it has one.
type decoded[G, P any] struct {
	present []P
	levels  []int16
	decode  translator[P, G]
}

var errNull = errors.New("null in a column that needs a value")

func (d decoded[G, P]) store(rows reflect.Value, c column) (int, error) {
	var value G
	next := 0
	for i := range rows.Len() {
		if d.levels != nil && d.levels[i] != 1 {
			if !c.optional {
				return i, errNull
			}
			continue
		}
		var err error
		if value, err = d.decode(d.present[next], value); err != nil {
			return i, err
		}
		next++
		switch cell := rows.Index(i).FieldByIndex(c.field).Addr().Interface().(type) {
		case *G:
			*cell = value
		case **G:
			copied := value
			*cell = &copied
		}
	}
	return rows.Len(), nil
}
