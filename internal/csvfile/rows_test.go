package csvfile_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"speceval/internal/csvfile"
)

func TestColumnsAreFoundByName(t *testing.T) {
	records, faults := csvfile.Parse([]byte("\ufeffc,a,extra,b\n3,1,x,2\n\"6\n6\",4,x,5\n"), []string{"a", "b"}, "c", "d")
	want := []csvfile.Record{{Number: 1, Fields: []string{"1", "2", "3", ""}}, {Number: 2, Fields: []string{"4", "5", "6\n6", ""}}}
	if len(faults) > 0 || !reflect.DeepEqual(records, want) {
		t.Errorf("got %v, %v", records, faults)
	}
}

func TestAllFaultsAreTold(t *testing.T) {
	cases := map[string]string{
		"":                       "the file is empty",
		"\"a":                    "header: ",
		"b\n":                    `column a is missing (the header is ["b"])`,
		"a,a\n":                  "column a is there twice",
		"a,b\n1\n1,2\n1,2,3\n":   "row 1: 1 fields, the header has 2; row 3: 3 fields",
		"a\n\xff\n1\n\xfe\n":     `row 1: a "\xff" is not valid UTF-8; row 3: a`,
		"a\n1\n\"unfinished\n\n": "row 2: ",
	}
	for text, want := range cases {
		_, faults := csvfile.Parse([]byte(text), []string{"a"})
		var all []string
		for _, fault := range faults {
			all = append(all, fault.Error())
		}
		if got := strings.Join(all, "; "); !strings.Contains(got, want) {
			t.Errorf("%q: faults %q, want %q", text, fmt.Sprint(got), want)
		}
	}
}

// Commas, rows and faults take many times their own memory: of none there are too many.
func TestCrowdedFiles(t *testing.T) {
	const n = 4 << 20
	quoted := `a,"` + strings.Repeat(",\n", 20_000) + `"` + "\n1,2\n"
	cases := map[string]struct{ text, want string }{
		"a row of commas":              {"a\n1\n" + strings.Repeat(",", n), "line 3: a row has more than 16384 cells"},
		"a header of commas":           {strings.Repeat(",", n), "line 1: a row has more than"},
		"a row of commas after quotes": {"a\n\"x\n,\"\"\n\"\n" + strings.Repeat(",", n), "line 5: a row has more than"},
		"faults":                       {"a\n" + strings.Repeat("1,2\n", n/4), "row 1001 and those after it were not read"},
		"rows":                         {"a\n" + strings.Repeat("1\n", n/2), "row 524289 is one too many"},
		"commas in quotes":             {quoted, ""},
	}
	for name, test := range cases {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		records, faults := csvfile.Parse([]byte(test.text), []string{"a"})
		runtime.ReadMemStats(&after)
		if made := after.TotalAlloc - before.TotalAlloc; made > 160<<20 {
			t.Errorf("%s: %d MiB were allocated", name, made>>20)
		}
		if len(records) > csvfile.MaxRecords || len(faults) > 1001 {
			t.Errorf("%s: %d records, %d faults", name, len(records), len(faults))
		}
		last := ""
		if len(faults) > 0 {
			last = faults[len(faults)-1].Error()
		}
		if !strings.Contains(last, test.want) || test.want == "" && last != "" {
			t.Errorf("%s: %q, want %q", name, last, test.want)
		}
	}
}

func TestCrowdedRows(t *testing.T) {
	text := "a,b\n" + strings.Repeat(",", 4<<20) + "\n1,2\n"
	var lines []string
	for row, err := range csvfile.Rows([]byte(text)) {
		lines = append(lines, fmt.Sprint(row.Line, len(row.Cells), err))
	}
	want := []string{"1 2 <nil>", "2 0 a row has more than 16384 cells", "3 2 <nil>"}
	if !reflect.DeepEqual(lines, want) {
		t.Errorf("got %q", lines)
	}
}

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
