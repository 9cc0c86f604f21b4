package rows_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"speceval/internal/upstream/rows"
)

// readCSV reads the columns a and b, and an optional number n.
func readCSV(path string) (got []string, err error) {
	columns := []rows.Column{{Name: "b"}, {Name: "a"}, {Name: "n", Kind: rows.Number, Optional: true}}
	err = rows.Read(context.Background(), path, "csv", columns, func(r rows.Row) error {
		got = append(got, fmt.Sprintf("%d %q %q %d", r.Number(), r.Text("a"), r.Text("b"), r.Int("n")))
		return nil
	})
	return got, err
}

func TestValuesOfCSV(t *testing.T) {
	tests := []struct {
		text string
		want []string
	}{
		{"a,b\n1,2", []string{`1 "1" "2" 0`}},
		{"\ufeffa,b\r\n1,2\r\n", []string{`1 "1" "2" 0`}},
		{"\ufeff\"b\",\"a\"\n2,1\n", []string{`1 "1" "2" 0`}},
		{"\n\r\na,b\n\n1,2\n\r\n3,4\n\n", []string{`1 "1" "2" 0`, `2 "3" "4" 0`}},
		{"a,b\n,\n\"\",\"\"", []string{`1 "" "" 0`, `2 "" "" 0`}},
		{"a,x,b\n\"1\r\n2\n3\r4\",\"\"\"\r\n,\"\"\",\"\"\"\"\n", []string{`1 "1\r\n2\n3\r4" "\"" 0`}},
		{"a,b,n\n 1 , 2\t,-3\n1,2,\n", []string{`1 " 1 " " 2\t" -3`, `2 "1" "2" 0`}},
		{"a,b\nx\u2028y,\u0085\n", []string{`1 "x\u2028y" "\u0085" 0`}},
		{"a,b", nil},
	}
	for _, test := range tests {
		got, err := readCSV(save(t, test.text))
		if err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%q: got %q, %v", test.text, got, err)
		}
	}
}

func TestFaultsOfCSV(t *testing.T) {
	long := strings.Repeat("x", 16<<20+1)
	tests := []struct{ text, want string }{
		{"\n\n", "header: the file has none"},
		{"a,c\n", `column "b" is missing (there are "a", "c"): another revision`},
		{"a,b,a\n", `column "a" is there twice`},
		{"a,\"b\n", "header: a quote opens a cell and is never closed"},
		{"a,b\xff\n", "header: \"b\\xff\" is not valid UTF-8"},
		{"a,b\n1,2\n1\n", "row 2: has 1 fields, the header has 2"},
		{"a,b\n1,2\n1,2,3\n", "row 2: has 3 fields, the header has 2"},
		{"a,b\n1,\"2\n", `row 1: a quote opens a cell and is never closed`},
		{"a,b\n1,\"2\"3\n", `row 1: text follows the quote that closes a cell`},
		{"a,b\n1,2\"3\n", `row 1: there is a quote in a cell that does not begin with one`},
		{"a,b\n1\r2,3\n", `row 1: there is a carriage return outside quotes`},
		{"a,b\n1,2\r", `row 1: there is a carriage return outside quotes`},
		{"a,b\n1,\xff\n", `row 1: column "b": is not valid UTF-8`},
		{"a,b,n\n1,2,3.0\n", `row 1: column "n": is "3.0", want an integer`},
		{"a,b\n1," + long, `row 1: column "b": is longer than 16777216 bytes`},
		{"a,b\n1,\"" + strings.Repeat(`""`, 16<<20+1) + `"`, `row 1: column "b": is longer than 16777216 bytes`},
	}
	for _, test := range tests {
		path := save(t, test.text)
		_, err := readCSV(path)
		wantError(t, err, path+": ", test.want)
	}
}

// Text without carriage returns is read as encoding/csv reads it, as far as it is
// UTF-8.
func FuzzCSV(f *testing.F) {
	for _, seed := range []string{"a,b\n1,2\n", "\ufeffb,a\n\"x\ny\",\"\"\"\"\n\n1,2", "a,b,c\n1,2\n", "a,b\n\"", "a,b\n1,2\"\n", "b,a,b\n", "a,b\n\"\"x,1"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 || !utf8.Valid(data) || bytes.HasPrefix(bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff"))), []byte("<")) || bytes.HasPrefix(data, []byte("PAR1")) {
			return
		}
		got, err := readCSV(save(t, data))
		if bytes.IndexByte(data, '\r') >= 0 || bytes.Contains(data, []byte("version https")) {
			return
		}
		all, wantErr := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff")))).ReadAll()
		at := map[string]int{}
		if len(all) > 0 {
			for i, name := range all[0] {
				if _, twice := at[name]; twice && (name == "a" || name == "b" || name == "n") {
					return
				}
				at[name] = i
			}
		}
		_, a := at["a"]
		_, b := at["b"]
		if n, ok := at["n"]; ok && n >= 0 {
			return // a number
		}
		if ok := wantErr == nil && a && b; ok != (err == nil) {
			t.Fatalf("%q: error %v, encoding/csv says %v", data, err, wantErr)
		}
		if err != nil {
			return
		}
		var want []string
		for i, record := range all[1:] {
			want = append(want, fmt.Sprintf("%d %q %q 0", i+1, record[at["a"]], record[at["b"]]))
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %q, want %q", data, got, want)
		}
	})
}
