package csvfile_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"speceval/internal/csvfile"
)

func TestRowsKeepEveryByteOfACell(t *testing.T) {
	text := "\ufeffa,b\r\n\"x\r\ny\n\",\"say \"\"hi\"\", \xff\"\n\r\n\"\",\n,\r\n\"\"\nlast, z"
	want := []csvfile.Row{
		{Line: 1, Cells: []string{"a", "b"}},
		{Line: 2, Cells: []string{"x\r\ny\n", "say \"hi\", \xff"}},
		{Line: 5},
		{Line: 6, Cells: []string{"", ""}},
		{Line: 7, Cells: []string{"", ""}},
		{Line: 8, Cells: []string{""}},
		{Line: 9, Cells: []string{"last", " z"}},
	}
	var got []csvfile.Row
	for row, err := range csvfile.Rows([]byte(text)) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, row)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for range csvfile.Rows([]byte(text)) {
		break // nothing is read after it
	}
}

func TestReadingGoesOnAfterARowThatCannotBeRead(t *testing.T) {
	for text, want := range map[string]string{
		"a\"b\nc":           "1: there is a quote in a cell; 2: [c]",
		"a, \"b\"\r\nc":     "1: there is a quote in a cell; 2: [c]",
		"\"a\"b\nc":         "1: text follows the quote; 2: [c]",
		"\"a\nb\"c\nd":      "1: text follows the quote; 3: [d]",
		"\"a\"\r":           "1: text follows the quote",
		"a\n\"b\n\nc\n":     "1: [a]; 2: a quote opens a cell",
		"\"":                "1: a quote opens a cell",
		"a\rb\nc":           "1: there is a carriage return; 2: [c]",
		"a\r":               "1: there is a carriage return",
		"":                  "",
		"\ufeff":            "",
		"a,\"b\"\"\"\n\n\"": "1: [a b\"]; 2: []; 3: a quote opens a cell",
	} {
		var got []string
		for row, err := range csvfile.Rows([]byte(text)) {
			said := fmt.Sprint(row.Cells)
			if err != nil {
				said = err.Error()
			}
			got = append(got, fmt.Sprintf("%d: %s", row.Line, said))
		}
		wanted := strings.Split(want, "; ")
		if want == "" {
			wanted = nil
		}
		ok := len(got) == len(wanted)
		for i := range min(len(got), len(wanted)) {
			ok = ok && strings.HasPrefix(got[i], wanted[i])
		}
		if !ok {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// FuzzRows holds rows to those of encoding/csv on files without carriage returns,
// which that rewrites, and without blank lines, which it passes over.
func FuzzRows(f *testing.F) {
	f.Add([]byte("\ufeffa,\"b\"\"\n\",\n\n\"\"\n"))
	f.Add([]byte("a\"b\r\n\"c\"d\r\ne\rf,\"\r\n\""))
	f.Fuzz(func(t *testing.T, text []byte) {
		last, failed := 0, false
		var got [][]string
		for row, err := range csvfile.Rows(text) {
			if row.Line <= last || row.Line > 1+bytes.Count(text, []byte("\n")) {
				t.Fatalf("row at line %d after line %d", row.Line, last)
			}
			last, failed = row.Line, failed || err != nil
			if err == nil && row.Cells != nil {
				got = append(got, row.Cells)
			}
		}
		if bytes.Contains(text, []byte("\r")) {
			return
		}
		reader := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
		reader.FieldsPerRecord = -1
		var want [][]string
		for {
			cells, err := reader.Read()
			if err == io.EOF {
				break
			}
			if err != nil {
				if !failed {
					t.Fatalf("%q is read, encoding/csv says %v", text, err)
				}
				return
			}
			want = append(want, cells)
		}
		if failed || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: got %q (failed: %v), want %q", text, got, failed, want)
		}
	})
}
