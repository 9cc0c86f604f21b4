package csvfile_test

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"speceval/internal/store/csvfile"
)

func TestColumnsAreFoundByName(t *testing.T) {
	type texts struct {
		A string `csv:"a"`
		B string `csv:"b"`
		C string `csv:"c,maybe"`
		D string `csv:"d,maybe"`
	}
	rows, numbers, faults := csvfile.Decode[texts]([]byte("\ufeffc,a,extra,b\n3,1,x,2\n\"6\n6\",4,x,5\n"))
	if want := []texts{{"1", "2", "3", ""}, {"4", "5", "6\n6", ""}}; len(faults) > 0 || !reflect.DeepEqual(rows, want) || !reflect.DeepEqual(numbers, []int{1, 2}) {
		t.Errorf("got %v, %v, %v", rows, numbers, faults)
	}
}

// TestSeparators of spreadsheets; a header of several columns by commas has none of them.
func TestSeparators(t *testing.T) {
	for text, want := range map[string]string{
		"a;b\n1,5;2\n": "1,5 2", "\ufeff\r\n a \tb\r\n1\t\"2;3\"\r\n": "1 2;3", "b, a\n2;0,1\n": "1 2;0", "sep=;\r\nA;B\n 1;2 \n": "1 2", "\"a\";\"b\"\n\"1;0\";2\n": "1;0 2",
	} {
		rows, _, faults := csvfile.Decode[struct {
			A string `csv:"a"`
			B string `csv:"b"`
		}]([]byte(text))
		if len(faults) > 0 || len(rows) != 1 || rows[0].A+" "+rows[0].B != want {
			t.Errorf("%q: %+v, %v, want %q", text, rows, faults, want)
		}
	}
}

// Inner is embedded in rows of structs.
type Inner struct {
	Name  string   `parquet:"name"`
	Share *float64 `parquet:"share,maybe"`
}

type line struct {
	Inner
	Count  int32         `csv:"count"`
	Pause  time.Duration `csv:"pause_ms"`
	Sure   *bool         `csv:"sure,maybe"`
	Hidden []string
}

func TestStructsComeBack(t *testing.T) {
	share, sure := 1e-3, true
	rows := []line{{Inner: Inner{`a "b", c`, &share}, Count: -7, Pause: 1500 * time.Microsecond, Sure: &sure}, {Inner: Inner{Name: "d"}, Count: 12}}
	var b strings.Builder
	if err := csvfile.Write(&b, rows); err != nil {
		t.Fatal(err)
	}
	if want := "name,share,count,pause_ms,sure\n\"a \"\"b\"\", c\",0.001,-7,1.5,true\nd,,12,0,\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
	if got, numbers, faults := csvfile.Decode[line]([]byte(b.String())); len(faults) > 0 || !reflect.DeepEqual(got, rows) || !reflect.DeepEqual(numbers, []int{1, 2}) {
		t.Errorf("%+v, %v, %v", got, numbers, faults)
	}
}

func TestCellsAreRead(t *testing.T) {
	rows, numbers, faults := csvfile.Decode[line]([]byte("count;pause_ms;name\n12.0; 2 ;x\n1.5;1;y\n3000000000;1;z\n7;soon;\n"))
	if len(rows) != 1 || rows[0].Count != 12 || rows[0].Pause != 2*time.Millisecond || rows[0].Share != nil || numbers[0] != 1 {
		t.Errorf("%+v of rows %v", rows, numbers)
	}
	want := `[row 2: count "1.5" is not an integer row 3: count "3000000000" is out of range row 4: pause_ms "soon" is not a number]`
	if fmt.Sprint(faults) != want {
		t.Errorf("faults %v, want %s", faults, want)
	}
}

// single is a row of one column.
type single struct {
	A string `csv:"a"`
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
		_, _, faults := csvfile.Decode[single]([]byte(text))
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
		"a row of commas":              {"a\n1\n" + strings.Repeat(",", n), "the line has more than 16384 cells"},
		"a header of commas":           {strings.Repeat(",", n), "the line has more than"},
		"a row of commas after quotes": {"a\n\"x\n,\"\"\n\"\n" + strings.Repeat(",", n), "the line has more than"},
		"faults":                       {"a\n" + strings.Repeat("1,2\n", n/4), "row 1001 and those after it were not read"},
		"rows":                         {"a\n" + strings.Repeat("1\n", n/2), "row 524289 is one too many"},
		"commas in quotes":             {quoted, ""},
	}
	for name, test := range cases {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		rows, _, faults := csvfile.Decode[single]([]byte(test.text))
		runtime.ReadMemStats(&after)
		if made := after.TotalAlloc - before.TotalAlloc; made > 160<<20 {
			t.Errorf("%s: %d MiB were allocated", name, made>>20)
		}
		if len(rows) > csvfile.MaxRecords || len(faults) > 1001 {
			t.Errorf("%s: %d records, %d faults", name, len(rows), len(faults))
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

func TestRowsKeepEveryByteOfACell(t *testing.T) {
	text := "\ufeffa,b\r\n\"x\r\ny\n\",\"say \"\"hi\"\"\r\n\"\r\n\r\n\"\",\n,\r\nlast, \xff"
	want := []csvfile.Row{
		{Line: 1, Cells: []string{"a", "b"}},
		{Line: 2, Cells: []string{"x\r\ny\n", "say \"hi\"\r\n"}},
		{Line: 7, Cells: []string{"", ""}},
		{Line: 8, Cells: []string{"", ""}},
		{Line: 9, Cells: []string{"last", " \xff"}},
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
}

func TestReadingGoesOnAfterARowThatCannotBeRead(t *testing.T) {
	for text, want := range map[string]string{
		"a\"b\nc":         `1: bare " in non-quoted-field; 2: [c]`,
		"\"a\"b\nc":       `1: extraneous or missing " in quoted-field; 2: [c]`,
		"\"a\nb\"c\nd":    `1: extraneous or missing " in quoted-field; 3: [d]`,
		"a\n\"b\n\nc\n":   `1: [a]; 2: extraneous or missing " in quoted-field`,
		"sep=;\r\na;b\nc": "2: [a b]; 3: [c]",
		"":                "",
	} {
		var got []string
		for row, err := range csvfile.Rows([]byte(text)) {
			said := fmt.Sprint(row.Cells)
			if err != nil {
				said = err.Error()
			}
			got = append(got, fmt.Sprintf("%d: %s", row.Line, said))
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
