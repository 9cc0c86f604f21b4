package rows_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"speceval/internal/upstream/rows"
)

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
		{"delta", rows.Column{Name: "problem"}, []string{`row 1: column "problem"`, "encoding DELTA_BYTE_ARRAY is not supported"}},
	}
	for _, test := range tests {
		path := filepath.Join("testdata", test.file+".parquet")
		_, err := readColumn(path, test.column)
		wantError(t, err, append(test.want, path+": ")...)
	}
	if n, err := readColumn(filepath.Join("testdata", "delta.parquet"), rows.Column{Name: "note", Optional: true}); n != 7 || err != nil {
		t.Errorf("next to a column that cannot be read: %d rows, %v", n, err)
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
