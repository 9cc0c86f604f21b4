package csvfile_test

import (
	"fmt"
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
