package rowfile_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"speceval/internal/store/rowfile"
)

// narrow and wide are rows of which the second may lack what the first has not.
type narrow struct {
	V int32 `parquet:"v"`
}

type wide struct {
	V int32   `parquet:"v"`
	A *string `parquet:"a,maybe"`
	B *string `parquet:"b,maybe"`
	C *string `parquet:"c,maybe"`
	D *string `parquet:"d,maybe"`
	E *string `parquet:"e,maybe"`
	F *string `parquet:"f,maybe"`
	G *string `parquet:"g,maybe"`
	H *string `parquet:"h,maybe"`
	I *string `parquet:"i,maybe"`
}

type word struct {
	T string `parquet:"t"`
}

// written is a file of groups of the same rows.
func written[T any](t *testing.T, rows []T, groups int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := rowfile.NewWriter[T](&b, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range groups {
		if err := w.Append(rows); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Files of some hundred kilobytes that say much more than they hold are refused before
// they take memory.
func TestBombs(t *testing.T) {
	long := []word{{strings.Repeat("x", 40_000)}, {strings.Repeat("y", 40_000)}}
	var alternating []word
	for i := range 1000 {
		alternating = append(alternating, long[i%2])
	}
	var growing []word // texts that compress to little
	for i := range 200 {
		growing = append(growing, word{strings.Repeat(string(rune('a'+i%26)), 900<<10)})
	}
	cases := map[string]struct {
		data []byte
		read func(data []byte) error
		want string
	}{
		"rows":               {written(t, make([]narrow, 100_000), 20), decoded[wide], "row group "},
		"texts of a word":    {written(t, alternating, 40), decoded[word], "column t: it takes more memory than may be used"},
		"pages":              {written(t, growing, 1), decoded[word], "column t: row group 1: damaged Parquet file: it takes more memory than may be used"},
		"texts, passed over": {written(t, alternating, 40), decoded[narrow], "column v is missing"},
	}
	for name, test := range cases {
		if len(test.data) > 2<<20 {
			t.Errorf("%s: the file has %d bytes", name, len(test.data))
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		err := test.read(test.data)
		runtime.ReadMemStats(&after)
		wantError(t, err, test.want)
		wantError(t, err, "bomb.parquet: ")
		if made := after.TotalAlloc - before.TotalAlloc; made > 700<<20 {
			t.Errorf("%s: %d MiB were allocated", name, made>>20)
		}
	}
}

func decoded[T any](data []byte) error {
	_, _, err := rowfile.Decode[T](data, "bomb.parquet")
	return err
}

// A file of results may be larger, and one that is read by groups larger still.
func TestRoomOfResults(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.parquet")
	if err := os.WriteFile(path, written(t, make([]narrow, 100_000), 20), 0o666); err != nil {
		t.Fatal(err)
	}
	rows, _, err := rowfile.ReadFile[wide](path)
	if err != nil || len(rows) != 2_000_000 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	reader, err := rowfile.Open[wide](path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for n := 0; ; {
		rows, err := reader.Next()
		n += len(rows)
		if err == io.EOF && n == 2_000_000 {
			break
		}
		if err != nil {
			t.Fatal(n, err)
		}
	}
}

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

func TestUnusableEmbeddingsAreErrors(t *testing.T) {
	type pointed struct{ *Key }
	type named struct{ Key Key }
	type tagged struct {
		Key `parquet:"key"`
	}
	wantError(t, rowfile.Write(&bytes.Buffer{}, []pointed{{}}, nil), "parquet tag")
	wantError(t, rowfile.Write(&bytes.Buffer{}, []named{{}}, nil), "parquet tag")
	wantError(t, rowfile.Write(&bytes.Buffer{}, []tagged{{}}, nil), "has type rowfile_test.Key")
}
