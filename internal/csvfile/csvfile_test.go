package csvfile_test

import (
	"fmt"
	"reflect"
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
