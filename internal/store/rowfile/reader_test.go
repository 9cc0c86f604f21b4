package rowfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"speceval/internal/store/rowfile"
)

// inGroups writes rows in row groups of the given size.
func inGroups[T any](t testing.TB, rows []T, size int) []byte {
	t.Helper()
	var b bytes.Buffer
	err := rowfile.WriteGroups(&b, func(yield func([]T, error) bool) {
		for group := range slices.Chunk(rows, size) {
			if !yield(group, nil) {
				return
			}
		}
	}, footer)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func onDisk(t testing.TB, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rows.parquet")
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// readAll reads a file group by group, and tells how many groups it has.
func readAll[T any](path string) (rows []T, groups int, footer map[string]string, err error) {
	r, err := rowfile.Open[T](path)
	if err != nil {
		return nil, 0, nil, err
	}
	defer r.Close()
	for {
		group, err := r.Next()
		if errors.Is(err, io.EOF) {
			return rows, groups, r.Footer(), nil
		}
		if err != nil {
			return rows, groups, nil, err
		}
		rows = append(rows, group...)
		groups++
	}
}

func TestAFileIsReadGroupByGroup(t *testing.T) {
	for _, n := range []int{0, 1, 100, 101, 300} {
		got, groups, keys, err := readAll[row](onDisk(t, inGroups(t, someRows(n), 100)))
		if err != nil || n > 0 && !reflect.DeepEqual(got, someRows(n)) || groups != (n+99)/100 || !reflect.DeepEqual(keys, footer) {
			t.Errorf("of %d rows: %d in %d groups, footer %v, %v", n, len(got), groups, keys, err)
		}
	}
}

func TestGroupsAreNotReused(t *testing.T) {
	r, err := rowfile.Open[row](onDisk(t, inGroups(t, someRows(20), 10)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	first, err1 := r.Next()
	_, err2 := r.Next()
	if err1 != nil || err2 != nil || !reflect.DeepEqual(first, someRows(10)) {
		t.Errorf("after the second group the first is %v, %v, %v", first, err1, err2)
	}
	for range 2 {
		if rows, err := r.Next(); err != io.EOF || rows != nil {
			t.Errorf("after the last group: %v, %v", rows, err)
		}
	}
}

// Values come in batches, and rows in groups; a fault is named by its row in the file.
func TestRowsAreCountedOverTheWholeFile(t *testing.T) {
	rows := make([]column[int64], 30_000)
	rows[29_000].V = 1 << 40
	path := onDisk(t, inGroups(t, rows, 10_000))
	got, groups, _, err := readAll[column[int32]](path)
	wantError(t, err, path+": column v, row 29001: 1099511627776 is no whole number of 32 bits")
	if len(got) != 20_000 || groups != 2 {
		t.Errorf("%d rows before it", len(got))
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	type missing struct {
		Other string `parquet:"other"`
	}
	path := onDisk(t, encode(t, someRows(10)))
	_, err := rowfile.Open[missing](path)
	wantError(t, err, path+": column other is missing")
	var column *rowfile.MissingColumnError
	if !errors.As(err, &column) || column.Column != "other" {
		t.Errorf("no MissingColumnError: %v", err)
	}
	_, err = rowfile.Open[row](path + ".absent")
	wantError(t, err, "absent")
	_, err = rowfile.Open[row](t.TempDir())
	wantError(t, err, "directory")
}

// Only the columns of the struct are read: damage to others does not matter.
func TestOtherColumnsAreNotRead(t *testing.T) {
	type pair struct {
		A string `parquet:"a"`
		B string `parquet:"b"`
	}
	type second struct {
		B string `parquet:"b"`
	}
	rows := make([]pair, 40)
	for i := range rows {
		rows[i] = pair{strings.Repeat(fmt.Sprint("a", i), 20), strings.Repeat(fmt.Sprint("b", i), 20)}
	}
	data := inGroups(t, rows, 40)
	clear(data[10:200]) // within the first column
	path := onDisk(t, data)
	if _, _, _, err := readAll[pair](path); err == nil {
		t.Error("the damage is not seen")
	}
	if got, _, _, err := readAll[second](path); err != nil || len(got) != 40 || got[39].B != rows[39].B {
		t.Errorf("%d rows, %v", len(got), err)
	}
}

// The footer claims 2²⁶ rows of a group that has 2²⁰; a varint has twice the number.
func TestAbsurdNumbersOfRowsAreErrors(t *testing.T) {
	data := inGroups(t, make([]column[bool], 1<<20), 1<<20)
	for times, want := range map[int]string{-1: "rows.parquet: row group 1 has 67108864 rows, at most 4194304 can be read at once", 0: ""} {
		claimed := bytes.Replace(data, []byte{0x80, 0x80, 0x80, 0x01}, []byte{0x80, 0x80, 0x80, 0x40}, times)
		rows, _, err := rowfile.Decode[column[bool]](claimed, "rows.parquet")
		if want != "" {
			wantError(t, err, want)
		} else if err != nil || len(rows) != 1<<20 {
			t.Errorf("%d rows, %v", len(rows), err)
		}
	}
}
