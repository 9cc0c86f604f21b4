package rowfile_test

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"speceval/internal/store/rowfile"
)

// A page of long texts must stay below what readers accept, ours included.
func TestLongTextsComeBack(t *testing.T) {
	rows := make([]column[string], 700)
	for i := range rows {
		rows[i].V = strings.Repeat(string(rune('a'+i%26)), 100_000+i)
	}
	got, _, err := rowfile.Decode[column[string]](encode(t, rows), "long.parquet")
	if err != nil || !reflect.DeepEqual(got, rows) {
		t.Errorf("read back %d rows, %v", len(got), err)
	}
}

func TestTheFooterIsReadAlone(t *testing.T) {
	path := onDisk(t, encode(t, someRows(50)))
	if rows, keys, err := rowfile.ReadFooter(path); err != nil || rows != 50 || !reflect.DeepEqual(keys, footer) {
		t.Errorf("got %d rows, %v, %v", rows, keys, err)
	}
	_, _, err := rowfile.ReadFooter(path + ".absent")
	wantError(t, err, "absent")
}

// TestManyDifferentTextsHaveTheSameBytes, though they are too many for a dictionary, or are so
// from the second row group on.
func TestManyDifferentTextsHaveTheSameBytes(t *testing.T) {
	type named struct {
		Name  string  `parquet:"name"`
		Label *string `parquet:"label"`
	}
	names := make([]named, 100_000)
	for i := range names {
		names[i].Name = fmt.Sprint("task ", i)
		names[i].Label = &names[i/2].Name
	}
	for name, rows := range map[string][]named{"from the first": names, "later": slices.Concat(make([]named, 122_880), names)} {
		want := encode(t, rows)
		for range 3 {
			if !bytes.Equal(encode(t, rows), want) {
				t.Fatalf("%s: other bytes of equal rows", name)
			}
		}
		if got, _, err := rowfile.Decode[named](want, "names.parquet"); err != nil || !reflect.DeepEqual(got, rows) {
			t.Errorf("%s: other rows are read, %v", name, err)
		}
	}
}
