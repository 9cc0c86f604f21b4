package rows_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"speceval/internal/benchmark/upstream/rows"
)

// made is a row of the files of testdata, as make.py there writes them.
type made struct {
	ID      int      `json:"id"`
	Problem string   `json:"problem"`
	Answer  int      `json:"answer"`
	Choices []string `json:"choices"`
	Note    *string  `json:"note"`
}

func table() (all []made) {
	for i := range 7 {
		m := made{ID: 60 + i, Problem: fmt.Sprintf("Problem %d:\n  ∑ of 𝔽 and é, \"so\"", i), Answer: i % 4, Choices: []string{}}
		for j := 0; j < 4+i%3 && i != 3; j++ {
			m.Choices = append(m.Choices, fmt.Sprintf("choice %d of %d", j, i))
		}
		if note := fmt.Sprint("note ", i); i != 2 {
			m.Note = &note
		}
		all = append(all, m)
	}
	return all
}

var (
	flatColumns = map[string]rows.Kind{"note": rows.Optional, "id": rows.Text, "absent": rows.Optional, "problem": rows.Text, "answer": rows.Text}
	allColumns  = map[string]rows.Kind{"note": rows.Optional, "id": rows.Text, "absent": rows.Optional, "problem": rows.Text, "answer": rows.Text, "choices": rows.Texts}
)

// line is what columns have of a row, as text.
func line(r rows.Row) string {
	return fmt.Sprintf("%d %s %q %s %q %q %q", r.Number, r.Text("id"), r.Text("problem"), r.Text("answer"), r.Text("note"), r.Text("absent"), r.Texts("choices"))
}

func wantLines(lists bool) (want []string) {
	for i, m := range table() {
		note := ""
		if m.Note != nil {
			note = *m.Note
		}
		if !lists {
			m.Choices = nil
		}
		want = append(want, fmt.Sprintf("%d %d %q %d %q %q %q", i+1, m.ID, m.Problem, m.Answer, note, "", m.Choices))
	}
	return want
}

func readLines(path string, columns map[string]rows.Kind) (got []string, err error) {
	err = rows.Read(context.Background(), path, columns, func(r rows.Row) error {
		got = append(got, line(r))
		return nil
	})
	return got, err
}

func wantTable(t *testing.T, name, path string, lists bool) {
	t.Helper()
	columns := allColumns
	if !lists {
		columns = flatColumns
	}
	got, err := readLines(path, columns)
	if err != nil || !reflect.DeepEqual(got, wantLines(lists)) {
		t.Errorf("%s: got %v\n%s\nwant\n%s", name, err, strings.Join(got, "\n"), strings.Join(wantLines(lists), "\n"))
	}
}

func TestParquetOfOtherWriters(t *testing.T) {
	for _, name := range []string{"snappy", "groups", "pages", "large", "dictionary", "legacy", "delta", "duckdb", "duckdb-zstd"} {
		wantTable(t, name, filepath.Join("testdata", name+".parquet"), true)
	}
}

func TestJSONLHasTheSameRows(t *testing.T) {
	text := "\n \n"
	for i, m := range table() {
		data, err := json.Marshal(m) // escapes <, >, & and some others
		if err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			data = bytes.ReplaceAll(data, []byte(`":`), []byte("\"\t:  "))
		}
		text += string(data) + []string{"\n", "\r\n", " \n\n\r\n"}[i%3]
	}
	wantTable(t, "lines", save(t, "jsonl", text), true)
	wantTable(t, "no last line feed", save(t, "jsonl", strings.TrimSpace(text)), true)
}

func TestCSVHasTheSameRows(t *testing.T) {
	var b strings.Builder
	b.WriteString("\ufeff")
	w := csv.NewWriter(&b)
	w.Write([]string{"answer", "problem", "other", "id", "note"})
	for _, m := range table() {
		note := ""
		if m.Note != nil {
			note = *m.Note
		}
		w.Write([]string{fmt.Sprint(m.Answer), m.Problem, "\"\r\n,\"", fmt.Sprint(m.ID), note})
	}
	w.Flush()
	wantTable(t, "CSV", save(t, "csv", b.String()), false)
	// Line breaks of cells stay, which encoding/csv changes.
	got, err := readLines(save(t, "csv", "id,problem,answer\r\n1,\"2\r\n3\n\",4\r\n"), flatColumns)
	if want := `1 1 "2\r\n3\n" 4 "" "" []`; err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestFilesWithoutData(t *testing.T) {
	for _, test := range []struct{ format, text, want string }{
		{"jsonl", "", "is empty: download it again"},
		{"csv", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "is a Git LFS pointer"},
		{"parquet", "\n <!DOCTYPE html><html>", "or a web page"},
		{"parquet", "{}", "not a Parquet file"},
		{"xlsx", "x", "want a name that ends in .parquet, .jsonl or .csv"},
	} {
		path := save(t, test.format, test.text)
		_, err := readLines(path, flatColumns)
		wantError(t, err, path, test.want)
	}
	if _, err := readLines("absent.csv", flatColumns); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of an absent file: %v", err)
	}
}

func TestErrorsOfTheCallerAndOfTheContext(t *testing.T) {
	stop, end := errors.New("stop"), errors.New("enough")
	for format, path := range map[string]string{
		"parquet": filepath.Join("testdata", "groups.parquet"),
		"jsonl":   save(t, "jsonl", "{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n{\"id\":4}\n"),
		"csv":     save(t, "csv", "id\n1\n2\n3\n4\n"),
	} {
		err := rows.Read(context.Background(), path, map[string]rows.Kind{"id": rows.Text}, func(r rows.Row) error {
			if r.Number == 3 {
				return stop
			}
			return nil
		})
		if !errors.Is(err, stop) || err.Error() != path+": row 3: stop" {
			t.Errorf("%s: %v", format, err)
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		err = rows.Read(ctx, path, map[string]rows.Kind{"id": rows.Text}, func(r rows.Row) error {
			if cancel(end); r.Number > 1 {
				t.Errorf("%s: row %d after the end", format, r.Number)
			}
			return nil
		})
		if !errors.Is(err, end) {
			t.Errorf("%s: %v", format, err)
		}
	}
}

func TestFaultsOfCSV(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"id,problem\n", `column "answer" is missing (there are ["id" "problem"]): another revision`},
		{"id,problem,\"answer\n", `header: extraneous or missing " in quoted-field`},
		{"id,problem,answer\n1,2,3\n1,2\n", "row 2: has 2 fields, the header has 3"},
		{"id,problem,answer\n1,2,\"3\n", `row 1: extraneous or missing " in quoted-field`},
		{"id,problem,answer\n1,2,\xff\n", `row 1: column "answer": is not valid UTF-8`},
	} {
		path := save(t, "csv", test.text)
		_, err := readLines(path, flatColumns)
		wantError(t, err, path+": ", test.want)
	}
}

func TestFaultsOfParquet(t *testing.T) {
	for _, test := range []struct {
		file, column string
		kind         rows.Kind
		want         string
	}{
		{"types", "id", rows.Text, `column "id" is missing (there are ["number" "unsigned" "nested" `},
		{"types", "number", rows.Text, `column "number" is DOUBLE, a list: false; want a text or a number: another revision`},
		{"types", "structure", rows.Text, `column "structure.a" is INT64, a list: false; want a text`},
		{"types", "lists", rows.Texts, `is BYTE_ARRAY, a list: false; want a list of texts`},
		{"types", "nulls", rows.Texts, `row 1: column "nulls": is a list with null`},
		{"types", "nulls", rows.Text, "is BYTE_ARRAY, a list: true; want a text"},
		{"types", "binary", rows.Text, `row 2: column "binary": is not valid UTF-8`},
		{"types", "binaries", rows.Texts, `row 2: column "binaries": is not valid UTF-8`},
		{"snappy", "answer", rows.Texts, "is INT32, a list: false; want a list of texts"},
		{"groups", "note", rows.Text, `row 3: column "note": null in a column that needs a value`},
	} {
		path := filepath.Join("testdata", test.file+".parquet")
		_, err := readLines(path, map[string]rows.Kind{test.column: test.kind})
		wantError(t, err, test.want, path+": ")
	}
}

// TestDamagedParquet cuts files, and changes many a byte: an error or other values, but
// no panic and no endless loop.
func TestDamagedParquet(t *testing.T) {
	for _, name := range []string{"snappy", "pages", "duckdb"} {
		data := must(os.ReadFile(filepath.Join("testdata", name+".parquet")))
		for i := 8; i < len(data); i += 31 {
			path := save(t, "parquet", string(data[:i]))
			_, err := readLines(path, allColumns)
			wantError(t, err, path, "Parquet file")
			changed := bytes.Clone(data)
			changed[i] ^= byte(1 + i%255)
			_, _ = readLines(save(t, "parquet", string(changed)), allColumns)
		}
	}
}

// save writes a file.
func save(t *testing.T, format, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "made."+format)
	ok(t, os.WriteFile(path, []byte(text), 0o666))
	return path
}

func wantError(t *testing.T, err error, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("error %q, want one with %q", fmt.Sprint(err), text)
		}
	}
}
