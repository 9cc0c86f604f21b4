package rows_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/schema"

	"speceval/internal/upstream/rows"
)

// write makes a file by what writes to it.
func write(t testing.TB, name string, fill func(w *bufio.Writer) error) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	if err := errors.Join(fill(w), w.Flush(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// Texts of JSON: packed tests are like the first one, others like the second.
var (
	packed  = strings.Repeat("QUJD+/09", 1<<13-2) + `\u000a∑`
	escaped = strings.Repeat(`1 2\n3 \"∑\"\n`, 1<<12)
)

// longLine is a line of JSON whose place and another value have so many bytes each.
func longLine(t testing.TB, size int, block string) string {
	return write(t, "long.jsonl", func(w *bufio.Writer) error {
		for _, begin := range []string{`{"text":"short","other":["`, `"],"place":"`} {
			fmt.Fprint(w, begin)
			for range size / len(block) {
				fmt.Fprint(w, block)
			}
		}
		_, err := fmt.Fprint(w, "\"}\n")
		return err
	})
}

// allocated is how many bytes a call allocates in all, freed or not: a bound on what
// it holds that the collector has no part in.
func allocated(call func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestJSONLTakesTheMemoryOfItsLongestLine reads lines of 16 MB, then one text of a
// line as a stream.
func TestJSONLTakesTheMemoryOfItsLongestLine(t *testing.T) {
	const size, lines = 8 << 20, 20
	one, err := os.ReadFile(longLine(t, size, packed))
	if err != nil {
		t.Fatal(err)
	}
	path := save(t, bytes.Repeat(one, lines))
	var at rows.Span
	took := allocated(func() {
		if err := readJSON(path, func(r rows.Row) error { at = r.Place("place"); return nil }); err != nil {
			t.Error(err)
		}
	})
	if took > 7*uint64(len(one)) || at.Length < size*9/10 { // the line grows by a quarter at a time
		t.Errorf("%d lines of %d bytes take %d bytes, the last place is %v", lines, len(one), took, at)
	}
	took = allocated(func() {
		text, err := rows.OpenText(path, at)
		if err != nil {
			t.Fatal(err)
		}
		defer text.Close()
		if n, err := io.Copy(io.Discard, text); err != nil || n < size*8/10 {
			t.Errorf("%d bytes, %v", n, err)
		}
	})
	if took > 1<<20 {
		t.Errorf("a text of %d bytes takes %d", at.Length, took)
	}
}

func TestALineHasALimit(t *testing.T) {
	path := save(t, "{\"text\":\"first\"}\n")
	if err := os.Truncate(path, 257<<20); err != nil {
		t.Fatal(err)
	}
	wantError(t, readJSON(path, func(rows.Row) error { return nil }), path, "the line at byte 17 is longer than 268435456 bytes")
}

func TestCancelledWithinALine(t *testing.T) {
	path := longLine(t, 1<<20, escaped)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := rows.Read(ctx, path, "jsonl", jsonColumns, func(rows.Row) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// imageFile has rows of an id and an image of so many bytes, all in one row group.
func imageFile(t testing.TB, count, size int, codec compress.Compression) string {
	return write(t, "images.parquet", func(w *bufio.Writer) error {
		id := schema.NewInt64Node("id", parquet.Repetitions.Required, -1)
		image := schema.NewByteArrayNode("image", parquet.Repetitions.Optional, -1)
		root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, schema.FieldList{id, image}, -1)
		if err != nil {
			return err
		}
		out := file.NewParquetWriter(w, root, file.WithWriterProps(parquet.NewWriterProperties(
			parquet.WithCompression(codec), parquet.WithDictionaryDefault(false), parquet.WithStats(false), parquet.WithBatchSize(1))))
		group := out.AppendRowGroup()
		ids, err := group.NextColumn()
		if err != nil {
			return err
		}
		for i := range count {
			if _, err := ids.(*file.Int64ColumnChunkWriter).WriteBatch([]int64{int64(i)}, nil, nil); err != nil {
				return err
			}
		}
		images, err := group.NextColumn()
		if err != nil {
			return err
		}
		for i := range count {
			value := parquet.ByteArray(strings.Repeat(string(rune('a'+i%26)), size*(i%2)))
			if _, err := images.(*file.ByteArrayColumnChunkWriter).WriteBatch([]parquet.ByteArray{value}, []int16{1}, nil); err != nil {
				return err
			}
		}
		return errors.Join(group.Close(), out.Close())
	})
}

// A column of images in one row group takes the memory of some pages, not of the
// group: of 100 MB, in pages of 2 MB, few are ever alive.
func TestALargeColumnTakesTheMemoryOfPages(t *testing.T) {
	const count, size = 100, 2 << 20
	for _, codec := range []compress.Compression{compress.Codecs.Snappy, compress.Codecs.Uncompressed} {
		path := imageFile(t, count, size, codec)
		filled, before, most := 0, heap(), uint64(0)
		err := rows.Read(context.Background(), path, "parquet", []rows.Column{{Name: "id"}, {Name: "image", Kind: rows.Filled}}, func(r rows.Row) error {
			if r.Filled("image") {
				filled++
			}
			if now := heap(); r.Number()%10 == 0 && now > before {
				most = max(most, now-before)
			}
			return nil
		})
		if err != nil || filled != count/2 || most > 16<<20 {
			t.Errorf("%s: %d images, at most %d bytes at once, %v", codec, filled, most, err)
		}
	}
}

// heap is how many bytes are alive.
func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func readColumn(path string, c rows.Column) (read int, err error) {
	err = rows.Read(context.Background(), path, "parquet", []rows.Column{c}, func(rows.Row) error { read++; return nil })
	return read, err
}

func TestFaultsOfParquet(t *testing.T) {
	revision := "another revision of the dataset may have other"
	tests := []struct {
		file   string
		column rows.Column
		want   []string
	}{
		{"types", rows.Column{Name: "id"}, []string{`column "id" is missing (there are "number", "unsigned", "nested", `, revision}},
		{"types", rows.Column{Name: "number"}, []string{`column "number" is DOUBLE, want a text or a number`, revision}},
		{"types", rows.Column{Name: "number", Kind: rows.Number}, []string{"is DOUBLE, want an integer"}},
		{"types", rows.Column{Name: "unsigned", Kind: rows.Number}, []string{"is INT64 (Int(bitWidth=64, isSigned=false)), want an integer"}},
		{"types", rows.Column{Name: "day"}, []string{"is INT32 (Date), want a text"}},
		{"types", rows.Column{Name: "nested"}, []string{"is a structure of BYTE_ARRAY (String), want a text"}},
		{"types", rows.Column{Name: "structure"}, []string{"is a structure, want a text"}},
		{"types", rows.Column{Name: "lists", Kind: rows.Texts}, []string{"is a list of BYTE_ARRAY (String), want a list of texts"}},
		{"types", rows.Column{Name: "nulls", Kind: rows.Texts}, []string{`row 1: column "nulls": is a list with null`}},
		{"types", rows.Column{Name: "nulls"}, []string{"is a list of BYTE_ARRAY (String), want a text"}},
		{"types", rows.Column{Name: "binary"}, []string{`row 2: column "binary": is not valid UTF-8`}},
		{"types", rows.Column{Name: "binaries", Kind: rows.Texts}, []string{`row 2: column "binaries": is not valid UTF-8`}},
		{"snappy", rows.Column{Name: "answer", Kind: rows.Texts}, []string{"is INT32, want a list of texts"}},
		{"snappy", rows.Column{Name: "answer", Kind: rows.Filled}, []string{"want anything"}},
		{"snappy", rows.Column{Name: "problem", Kind: rows.Number}, []string{"is BYTE_ARRAY (String), want an integer"}},
		{"groups", rows.Column{Name: "note"}, []string{`row 3: column "note": null in a column that needs a value`}},
		{"pages", rows.Column{Name: "hints", Kind: rows.Texts}, []string{`row 2: column "hints": null in a column`}},
	}
	for _, test := range tests {
		path := filepath.Join("testdata", test.file+".parquet")
		_, err := readColumn(path, test.column)
		wantError(t, err, append(test.want, path+": ")...)
	}
	if n, err := readColumn(filepath.Join("testdata", "snappy.parquet"), rows.Column{Name: "none", Optional: true}); n != 7 || err != nil {
		t.Errorf("of no columns: %d rows, %v", n, err)
	}
}

func TestTruncatedParquet(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "groups.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	for n := 8; n < len(data); n += 97 {
		path := save(t, data[:n])
		_, err := readLines(path, "parquet", true)
		wantError(t, err, path, "Parquet file")
	}
}

// Many a byte damaged in turn: an error or other values, but no panic and no hang.
func TestDamagedParquet(t *testing.T) {
	for _, name := range []string{"snappy", "pages", "duckdb"} {
		data, err := os.ReadFile(filepath.Join("testdata", name+".parquet"))
		if err != nil {
			t.Fatal(err)
		}
		path := save(t, data)
		file, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		for i := 0; i < len(data); i += 13 {
			for _, changed := range []byte{data[i] ^ 1, ^data[i], data[i]} {
				if _, err := file.WriteAt([]byte{changed}, int64(i)); err != nil {
					t.Fatal(err)
				}
				if changed != data[i] {
					_, _ = readLines(path, "parquet", true)
				}
			}
		}
	}
}

func FuzzParquet(f *testing.F) {
	for _, name := range []string{"snappy", "pages", "duckdb", "legacy", "groups"} {
		data, err := os.ReadFile(filepath.Join("testdata", name+".parquet"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := save(t, data)
		if _, err := readLines(path, "parquet", true); err != nil && !bytes.HasPrefix([]byte(err.Error()), []byte(path)) {
			t.Errorf("error %q does not name the file", err)
		}
	})
}
