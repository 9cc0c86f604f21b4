package rowfile_test

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"

	"speceval/internal/store/rowfile"
)

// Key and inner are embedded in rows, one exported and one not.
type (
	Key struct {
		Name  string   `parquet:"name"`
		Share *float64 `parquet:"share"`
	}
	inner struct {
		Key
		Count int32 `parquet:"count"`
	}
	outer struct {
		First bool `parquet:"first"`
		inner
		Last int64 `parquet:"last"`
	}
	flat struct {
		First bool     `parquet:"first"`
		Name  string   `parquet:"name"`
		Share *float64 `parquet:"share"`
		Count int32    `parquet:"count"`
		Last  int64    `parquet:"last"`
	}
)

func TestEmbeddedFieldsAreColumnsInTheirPlace(t *testing.T) {
	var rows []outer
	var same []flat
	for i := range 300 {
		o := outer{First: i%2 == 0, Last: int64(i)}
		o.Name, o.Count = fmt.Sprint("task-", i%7), int32(i)
		if i%3 == 0 {
			v := float64(i) / 8
			o.Share = &v
		}
		rows = append(rows, o)
		same = append(same, flat{o.First, o.Name, o.Share, o.Count, o.Last})
	}
	data := encode(t, rows)
	if !bytes.Equal(data, encode(t, same)) {
		t.Error("the file is not that of the flat struct")
	}
	got, _, err := rowfile.Decode[outer](data, "embedded.parquet")
	if err != nil || !reflect.DeepEqual(got, rows) {
		t.Errorf("read back %d rows, %v", len(got), err)
	}
	keys, _, err := rowfile.Decode[Key](data, "embedded.parquet")
	if err != nil || len(keys) != 300 || keys[9].Name != rows[9].Name || *keys[9].Share != *rows[9].Share {
		t.Errorf("the embedded struct alone: %d rows, %v", len(keys), err)
	}
}

func TestFieldsThatAreNoColumns(t *testing.T) {
	type partly struct {
		Name   string              `parquet:"name"`
		Hidden map[string]struct{} `parquet:"-"`
	}
	type whole struct {
		Name string `parquet:"name"`
	}
	data := encode(t, []partly{{"a", map[string]struct{}{"b": {}}}, {"c", nil}})
	if !bytes.Equal(data, encode(t, []whole{{"a"}, {"c"}})) {
		t.Error("the file is not that of the columns alone")
	}
	got, _, err := rowfile.Decode[partly](data, "partly.parquet")
	if want := []partly{{"a", nil}, {"c", nil}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read back %v, %v", got, err)
	}
}
