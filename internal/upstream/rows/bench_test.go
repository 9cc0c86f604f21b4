package rows_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v17/parquet/compress"

	"speceval/internal/upstream/rows"
)

func benchmark(b *testing.B, path, format string, columns []rows.Column) {
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	b.ReportAllocs()
	for b.Loop() {
		if err := rows.Read(context.Background(), path, format, columns, func(rows.Row) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

// baseline reads the lines of a file with encoding/json, all keys of them.
func baseline(b *testing.B, path string) {
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	b.ReportAllocs()
	for b.Loop() {
		file, err := os.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		for lines := json.NewDecoder(file); ; {
			var values map[string]any
			if err := lines.Decode(&values); err == io.EOF {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
		file.Close()
	}
}

// As in LiveCodeBench: nearly all of a file is a text that is passed over.
func BenchmarkPlace(b *testing.B) {
	for name, block := range map[string]string{"packed": packed, "escaped": escaped} {
		path := longLine(b, 32<<20, block)
		b.Run(name, func(b *testing.B) { benchmark(b, path, "jsonl", jsonColumns) })
		b.Run(name+"/encoding-json", func(b *testing.B) { baseline(b, path) })
	}
}

func BenchmarkOpenText(b *testing.B) {
	for name, block := range map[string]string{"packed": packed, "escaped": escaped} {
		b.Run(name, func(b *testing.B) { benchmarkText(b, longLine(b, 32<<20, block)) })
	}
}

func benchmarkText(b *testing.B, path string) {
	var at rows.Span
	if err := readJSON(path, func(r rows.Row) error { at = r.Place("place"); return nil }); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(at.Length)
	b.ReportAllocs()
	for b.Loop() {
		text, err := rows.OpenText(path, at)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, text); err != nil {
			b.Fatal(err)
		}
		text.Close()
	}
}

func BenchmarkJSONL(b *testing.B) {
	path := write(b, "rows.jsonl", func(w *bufio.Writer) error {
		encoder := json.NewEncoder(w)
		for range 3000 {
			for _, m := range table() {
				if err := encoder.Encode(m); err != nil {
					return err
				}
			}
		}
		return nil
	})
	b.Run("rows", func(b *testing.B) { benchmark(b, path, "jsonl", append(flatColumns, listColumns...)) })
	b.Run("encoding-json", func(b *testing.B) { baseline(b, path) })
}

func BenchmarkCSV(b *testing.B) {
	path := write(b, "rows.csv", func(w *bufio.Writer) error {
		fmt.Fprintln(w, "other,b,a")
		for i := range 20_000 {
			fmt.Fprintf(w, "%d,\"quoted \"\"text\"\"\r\nof %d lines\",%s\n", i, i, strings.Repeat("plain text ", 20))
		}
		return nil
	})
	benchmark(b, path, "csv", []rows.Column{{Name: "a"}, {Name: "b"}})
}

func BenchmarkParquet(b *testing.B) {
	path := imageFile(b, 2000, 20_000, compress.Codecs.Uncompressed)
	benchmark(b, path, "parquet", []rows.Column{{Name: "id"}, {Name: "image"}})
}
