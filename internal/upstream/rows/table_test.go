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

	"speceval/internal/upstream/rows"
)

// made is a row of the files of testdata, as make.py there writes them.
type made struct {
	ID      int      `json:"id"`
	Problem string   `json:"problem"`
	Answer  int      `json:"answer"`
	Subject string   `json:"subject"`
	Choices []string `json:"choices"`
	Hints   []string `json:"hints"`
	Image   *string  `json:"image"`
	Note    *string  `json:"note"`
}

func table() (all []made) {
	for i := range 7 {
		m := made{ID: 60 + i, Problem: fmt.Sprintf("Problem %d:\n  ∑ of 𝔽 and é, \"so\"", i), Answer: i % 4, Subject: "physics", Choices: []string{}}
		for j := 0; j < 4+i%3 && i != 3; j++ {
			m.Choices = append(m.Choices, fmt.Sprintf("choice %d of %d", j, i))
		}
		if i >= 4 {
			m.Subject = "biology"
		}
		if i%2 == 0 {
			m.Hints = []string{"", "a hint"}
		}
		if image := strings.Repeat("aW1hZ2U=", 40); i%3 == 2 {
			m.Image = &image
		} else if i%3 == 1 {
			m.Image = new(string)
		}
		if note := fmt.Sprint("note ", i); i != 2 {
			m.Note = &note
		}
		all = append(all, m)
	}
	return all
}

var listColumns = []rows.Column{{Name: "choices", Kind: rows.Texts}, {Name: "hints", Kind: rows.Texts, Optional: true}}

var flatColumns = []rows.Column{
	{Name: "note", Optional: true}, {Name: "id"}, {Name: "absent", Optional: true}, {Name: "problem"},
	{Name: "answer", Kind: rows.Number}, {Name: "image", Kind: rows.Filled}, {Name: "absent image", Kind: rows.Filled, Optional: true},
}

// line is what columns have of a row, as text.
func line(r rows.Row, lists bool) string {
	s := fmt.Sprintf("%d %s %q %d %v %q %q %v", r.Number(), r.Text("id"), r.Text("problem"), r.Int("answer"), r.Filled("image"), r.Text("note"), r.Text("absent"), r.Filled("absent image"))
	if lists {
		s += fmt.Sprintf(" %q %q", r.Texts("choices"), r.Texts("hints"))
	}
	return s
}

func wantLines(lists bool) (want []string) {
	for i, m := range table() {
		var note string
		if m.Note != nil {
			note = *m.Note
		}
		s := fmt.Sprintf("%d %d %q %d %v %q %q %v", i+1, m.ID, m.Problem, m.Answer, m.Image != nil && *m.Image != "", note, "", false)
		if lists {
			s += fmt.Sprintf(" %q %q", m.Choices, m.Hints)
		}
		want = append(want, s)
	}
	return want
}

func readLines(path, format string, lists bool) (got []string, err error) {
	columns := flatColumns
	if lists {
		columns = append(columns[:len(columns):len(columns)], listColumns...)
	}
	err = rows.Read(context.Background(), path, format, columns, func(r rows.Row) error {
		got = append(got, line(r, lists))
		return nil
	})
	return got, err
}

func TestParquetOfOtherWriters(t *testing.T) {
	for _, name := range []string{"snappy", "groups", "pages", "large", "dictionary", "legacy", "delta", "duckdb", "duckdb-zstd"} {
		got, err := readLines(filepath.Join("testdata", name+".parquet"), "parquet", true)
		if err != nil || !reflect.DeepEqual(got, wantLines(true)) {
			t.Errorf("%s: got %v\n%s\nwant\n%s", name, err, strings.Join(got, "\n"), strings.Join(wantLines(true), "\n"))
		}
	}
}

func TestJSONLHasTheSameRows(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("\n \n")
	for i, m := range table() {
		data, err := json.Marshal(m) // escapes <, >, & and some others
		if err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			data = bytes.ReplaceAll(data, []byte(`":`), []byte("\"\t:  "))
			data = bytes.ReplaceAll(data, []byte(`,"`), []byte(" , \""))
		}
		b.Write(data)
		b.WriteString([]string{"\n", "\r\n", " \n\n\r\n"}[i%3])
	}
	for _, end := range []string{"", "\n\n  "} {
		got, err := readLines(save(t, bytes.TrimSpace(b.Bytes()), []byte(end)), "jsonl", true)
		if err != nil || !reflect.DeepEqual(got, wantLines(true)) {
			t.Errorf("got %v\n%s", err, strings.Join(got, "\n"))
		}
	}
}

func TestCSVHasTheSameRows(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("\ufeff")
	w := csv.NewWriter(&b)
	write := func(record ...string) {
		if err := w.Write(record); err != nil {
			t.Fatal(err)
		}
	}
	write("image", "answer", "problem", "other", "id", "note")
	for _, m := range table() {
		var image, note string
		if m.Image != nil {
			image = *m.Image
		}
		if m.Note != nil {
			note = *m.Note
		}
		write(image, fmt.Sprint(m.Answer), m.Problem, "\"\r\n,\"", fmt.Sprint(m.ID), note)
	}
	w.Flush()
	got, err := readLines(save(t, b.Bytes()), "csv", false)
	if err != nil || !reflect.DeepEqual(got, wantLines(false)) {
		t.Errorf("got %v\n%s", err, strings.Join(got, "\n"))
	}
}

func TestWhatIsNoDataIsSaid(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", "is empty"},
		{"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "is a Git LFS pointer"},
		{"\n <!DOCTYPE html><html>", "is a web page"},
		{"PAR1 and more", "Parquet"},
	}
	for _, format := range []string{"parquet", "jsonl", "csv"} {
		for _, test := range tests {
			path := save(t, []byte(test.text))
			_, err := readLines(path, format, false)
			wantError(t, err, path, test.want)
		}
	}
	_, err := readLines(save(t, []byte("{}")), "parquet", false)
	wantError(t, err, "not a Parquet file")
	_, err = readLines(filepath.Join(t.TempDir(), "absent.csv"), "csv", false)
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of an absent file: %v", err)
	}
	_, err = readLines(t.TempDir(), "jsonl", false)
	wantError(t, err, "directory")
	_, err = readLines("x", "xlsx", false)
	wantError(t, err, `there is no format "xlsx"`)
	err = rows.Read(context.Background(), "x", "csv", []rows.Column{{Name: "c", Kind: rows.Texts}}, nil)
	wantError(t, err, `a csv file cannot give column "c" as a list of texts`)
	err = rows.Read(context.Background(), "x", "parquet", []rows.Column{{Name: "c", Kind: rows.Place}}, nil)
	wantError(t, err, `a parquet file cannot give column "c" as a place`)
}

func TestErrorsOfTheCallerAndOfTheContext(t *testing.T) {
	stop, end := errors.New("stop"), errors.New("enough")
	for format, path := range map[string]string{
		"parquet": filepath.Join("testdata", "groups.parquet"),
		"jsonl":   save(t, []byte("{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n{\"id\":4}\n")),
		"csv":     save(t, []byte("id\n1\n2\n3\n4\n")),
	} {
		err := rows.Read(context.Background(), path, format, []rows.Column{{Name: "id"}}, func(r rows.Row) error {
			if r.Number() == 3 {
				return stop
			}
			return nil
		})
		if !errors.Is(err, stop) || err.Error() != path+": row 3: stop" {
			t.Errorf("%s: %v", format, err)
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		err = rows.Read(ctx, path, format, []rows.Column{{Name: "id"}}, func(r rows.Row) error {
			if r.Number() == 2 {
				cancel(end)
			}
			if r.Number() > 2 {
				t.Errorf("%s: row %d after the end", format, r.Number())
			}
			return nil
		})
		if !errors.Is(err, end) {
			t.Errorf("%s: %v", format, err)
		}
	}
}

func TestOnlyWhatWasAskedForCanBeHad(t *testing.T) {
	path := save(t, []byte(`{"a":"x","b":"y"}`))
	err := rows.Read(context.Background(), path, "jsonl", []rows.Column{{Name: "a"}}, func(r rows.Row) error {
		for _, give := range []func(){func() { r.Text("b") }, func() { r.Int("a") }} {
			func() {
				defer func() {
					if recover() == nil {
						t.Error("no panic")
					}
				}()
				give()
			}()
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// save writes a file of parts.
func save[T string | []byte](t testing.TB, parts ...T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "made.file")
	var all []byte
	for _, part := range parts {
		all = append(all, part...)
	}
	if err := os.WriteFile(path, all, 0o666); err != nil {
		t.Fatal(err)
	}
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
