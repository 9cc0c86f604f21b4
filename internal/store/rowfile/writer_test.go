package rowfile_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"speceval/internal/store/rowfile"
)

func TestGroupsWrittenOneByOneReadAsOne(t *testing.T) {
	rows := someRows(300)
	var b bytes.Buffer
	err := rowfile.WriteGroups(&b, func(yield func([]row, error) bool) {
		for _, size := range []int{1, 199, 100} {
			if !yield(rows[:size], nil) {
				return
			}
			rows = rows[size:]
		}
	}, footer)
	if err != nil {
		t.Fatal(err)
	}
	got, keys, err := rowfile.Decode[row](b.Bytes(), "groups.parquet")
	if err != nil || !reflect.DeepEqual(got, someRows(300)) || !reflect.DeepEqual(keys, footer) {
		t.Errorf("read back %d rows, footer %v, %v", len(got), keys, err)
	}
}

// A page of long texts must stay below what readers accept, ours included.
func TestLongTextsComeBack(t *testing.T) {
	type long struct {
		Text string `parquet:"text"`
	}
	rows := make([]long, 700)
	for i := range rows {
		rows[i].Text = strings.Repeat(string(rune('a'+i%26)), 100_000+i)
	}
	got, _, err := rowfile.Decode[long](encode(t, rows), "long.parquet")
	if err != nil || !reflect.DeepEqual(got, rows) {
		t.Errorf("read back %d rows, %v", len(got), err)
	}
}

func TestTheFooterIsReadAlone(t *testing.T) {
	data := encode(t, someRows(50))
	path := filepath.Join(t.TempDir(), "a.parquet")
	put := func(data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	put(data)
	rows, keys, err := rowfile.ReadFooter(path)
	if err != nil || rows != 50 || !reflect.DeepEqual(keys, footer) {
		t.Errorf("got %d rows, %v, %v", rows, keys, err)
	}
	for n := range data {
		put(data[:n])
		if _, _, err := rowfile.ReadFooter(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Fatalf("the first %d of %d bytes: error %v", n, len(data), err)
		}
	}
	_, _, err = rowfile.ReadFooter(path + ".absent")
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
