package rows_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/schema"

	"speceval/internal/benchmark/upstream/rows"
)

var jsonColumns = map[string]rows.Kind{"text": rows.Text, "place": rows.Place}

func readJSON(path string, each func(rows.Row) error) error {
	return rows.Read(context.Background(), path, jsonColumns, each)
}

func TestFaultsOfJSONL(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{`{"text":"x"} {`, "after the object the line has \"{\""},
		{`["text"]`, "want an object a line, not ["},
		{`{"text":"x"`, "the file ends within the row: it is truncated, download it again"},
		{`{"text":"x`, "the file ends within the row"},
		{`{"text":tr`, "the file ends within the row"},
		{"{\"text\":\n\"x\"}", "in the line at byte 17 of the file"},
		{"{\"other\":\"x\x00\",\"text\":\"\"}", "in the line at byte 17 of the file"},
		{"{\"text\":\"x\xff\"}", "UTF-8"},
		{`{"text":"\ud800"}`, "surrogate"},
		{`{"text":"","place":"\ud800"}`, `column "place": is no valid text`},
		{`{"text":"x",}`, "in the line at byte 17 of the file"},
		{`{"text":"x","text":"y"}`, `column "text": is there twice`},
		{`{"text":"x","a":01}`, "in the line at byte 17"},
		{`{"text":"x","a":` + strings.Repeat(`{"a":[`, 5000), "max depth"},
		{`{"text":null}`, `column "text": null in a column that needs a value`},
		{`{"text":true}`, "is true, want a text or a number"},
		{`{"text":"x","place":1}`, "is number, want a text"},
		{`{"words":1,"Text":"x"}`, `column "text" is missing (there are ["words" "Text"]): another revision`},
	} {
		path := save(t, "jsonl", "{\"text\":\"first\"}\n"+test.line)
		read := 0
		err := readJSON(path, func(rows.Row) error { read++; return nil })
		if read != 1 {
			t.Errorf("%.100s: %d rows before the error", test.line, read)
		}
		wantError(t, err, path+": row 2: ", test.want)
	}
	path := save(t, "jsonl", "{\"text\":\"first\"}\n")
	ok(t, os.Truncate(path, 257<<20))
	wantError(t, readJSON(path, func(rows.Row) error { return nil }), path+": row 2: is longer than 256 MiB")
}

func TestValuesOfJSONL(t *testing.T) {
	for line, want := range map[string]string{
		`{"text":""}`:       "",
		`{"text":-0.50e+7}`: "-0.50e+7",
		`{"te\u0078t":"a\"\\\/\b\f\n\r\t\u0041\u00e9\ud83e\uDDEE","place":null}`: "a\"\\/\b\f\n\r\tAé🧮",
		`{"other":"half \ud800 of a pair","other":{"text":1},"text":"x"}`:        "x",
	} {
		err := readJSON(save(t, "jsonl", line), func(r rows.Row) error {
			if got := r.Text("text"); got != want {
				t.Errorf("%s: got %q, want %q", line, got, want)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	for line, want := range map[string]string{`["", "y\n"]`: `["" "y\n"]`, `[]`: `[]`, `"x"`: "is string, want a list of texts", `["x",1]`: "JSON number into Go string", `null`: "null in a column"} {
		got := ""
		err := rows.Read(t.Context(), save(t, "jsonl", `{"texts":`+line+`}`), map[string]rows.Kind{"texts": rows.Texts}, func(r rows.Row) error {
			got = fmt.Sprintf("%q", r.Texts("texts"))
			return nil
		})
		if got != want && !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: got %s, %v; want %s", line, got, err, want)
		}
	}
}

func TestPlaces(t *testing.T) {
	text := "\"\\/\b\f\n\r\té∑🧮 plain \u2028<&>\x7f"
	quoted := must(json.Marshal(text))
	path := save(t, "jsonl", `{"text":"","place":""}`+"\n"+`{"text":"é","place":  "∑ plain"}`+"\n"+`{"place":`+strings.ReplaceAll(string(quoted), "🧮", `\ud83e\uddee`)+`,"text":""}`)
	var at []rows.Span
	ok(t, readJSON(path, func(r rows.Row) error { at = append(at, r.Place("place")); return nil }))
	for i, want := range []string{"", "∑ plain", text} {
		opened := must(rows.OpenText(path, at[i]))
		if got, err := io.ReadAll(opened); err != nil || string(got) != want || opened.Close() != nil {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	ok(t, os.WriteFile(path, []byte(strings.Repeat(`\x`, 100)), 0o666))
	_, err := rows.OpenText(path, at[2])
	wantError(t, err, path, "has the file changed?")
}

// TestALargeColumnTakesTheMemoryOfPages reads 100 MB of images in one row group, in
// pages of 2 MB.
func TestALargeColumnTakesTheMemoryOfPages(t *testing.T) {
	const count, size = 50, 2 << 20
	path := filepath.Join(t.TempDir(), "images.parquet")
	out := must(os.Create(path))
	root := schema.MustGroup(schema.NewGroupNode("schema", parquet.Repetitions.Required, schema.FieldList{schema.NewByteArrayNode("image", parquet.Repetitions.Optional, -1)}, -1))
	w := file.NewParquetWriter(out, root, file.WithWriterProps(parquet.NewWriterProperties(parquet.WithDictionaryDefault(false), parquet.WithStats(false), parquet.WithBatchSize(1))))
	images := must(w.AppendRowGroup().NextColumn())
	for i := range count {
		image := parquet.ByteArray(strings.Repeat(string(rune('a'+i%26)), size))
		if _, err := images.(*file.ByteArrayColumnChunkWriter).WriteBatch([]parquet.ByteArray{image}, []int16{1}, nil); err != nil {
			t.Fatal(err)
		}
	}
	ok(t, w.Close())
	heap := func() uint64 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	read, before, most := 0, heap(), uint64(0)
	err := rows.Read(context.Background(), path, map[string]rows.Kind{"image": rows.Text}, func(r rows.Row) error {
		if read += len(r.Text("image")); r.Number%10 == 0 {
			most = max(most, heap())
		}
		return nil
	})
	if err != nil || read != count*size || most > before+16<<20 {
		t.Errorf("%d bytes of images, at most %d bytes of memory after %d, %v", read, most, before, err)
	}
}

// must is a result whose error ends the tests.
func must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}

// ok ends a test at an error.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
