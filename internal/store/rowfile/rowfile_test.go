package rowfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/schema"

	"speceval/internal/store/rowfile"
)

// row has every field type that a row may have.
type row struct {
	Name   string   `parquet:"name"`
	Count  int32    `parquet:"count"`
	Big    int64    `parquet:"big"`
	Value  float64  `parquet:"value"`
	Yes    bool     `parquet:"yes"`
	Maybe  *float64 `parquet:"maybe"`
	Number *int32   `parquet:"number"`
	Label  *string  `parquet:"label"`
}

func someRows(n int) []row {
	rows := make([]row, n)
	for i := range rows {
		rows[i] = row{
			Name: fmt.Sprintf("task-%d", i%37), Count: int32(i) - 5, Big: int64(i) << 33,
			Value: math.Sqrt(float64(i)), Yes: i%3 == 0,
		}
		if i%4 != 1 {
			v := float64(i) / 7
			rows[i].Maybe = &v
		}
		if i%5 == 2 {
			v := int32(i)
			rows[i].Number = &v
			rows[i].Label = &rows[i].Name
		}
	}
	return rows
}

var footer = map[string]string{"speceval.schema": "row/1", "speceval.key": "k", "speceval.commit": "c"}

func encode[T any](t testing.TB, rows []T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := rowfile.Write(&b, rows, footer); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestRowsAndFooterComeBack(t *testing.T) {
	// The last size needs more than one row group.
	for _, n := range []int{0, 1, 2, 1000, 9000, 122_880, 122_881} {
		want := someRows(n)
		got, keys, err := rowfile.Decode[row](encode(t, want), "rows.parquet")
		if err != nil {
			t.Fatalf("%d rows: %v", n, err)
		}
		if len(got) != n || n > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("%d rows: other rows came back", n)
		}
		if !reflect.DeepEqual(keys, footer) {
			t.Errorf("%d rows: footer %v, want %v", n, keys, footer)
		}
	}
}

func TestAllNullAndNoNull(t *testing.T) {
	one := 1.0
	for _, cell := range []*float64{nil, &one} {
		want := slices.Repeat([]column[*float64]{{cell}}, 20_000)
		if got, _, err := rowfile.Decode[column[*float64]](encode(t, want), "rows.parquet"); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("cells %v: other rows came back, %v", cell, err)
		}
	}
}

// column is rows of one column.
type column[V any] struct {
	V V `parquet:"v"`
}

// read writes a value as one type and reads it as another.
func read[From, To any](t *testing.T, v From) (to To, err error) {
	t.Helper()
	rows, _, err := rowfile.Decode[column[To]](encode(t, []column[From]{{v}}), "f")
	if err == nil {
		to = rows[0].V
	}
	return to, err
}

// TestNumbersOfOtherTypes reads floats and integers of either width into one another, as far as
// nothing is lost.
func TestNumbersOfOtherTypes(t *testing.T) {
	for _, v := range []float64{0, -3, 1 << 40, 1e18} {
		if n, err := read[float64, int64](t, v); err != nil || float64(n) != v {
			t.Errorf("%v as an integer: %v, %v", v, n, err)
		}
	}
	for _, v := range []float64{0.5, 1e30, -1e19, math.NaN(), math.Inf(1)} {
		_, err := read[float64, int64](t, v)
		wantError(t, err, fmt.Sprintf("f: column v, row 1: %v is no whole number of 64 bits", v))
	}
	_, err := read[int64, float64](t, 1<<53+1)
	wantError(t, err, "row 1: 9007199254740993 is no")
	if n, err := read[int64, float64](t, 1<<60); err != nil || n != 1<<60 {
		t.Errorf("%v, %v", n, err)
	}
	narrow, err := read[int64, int32](t, -3)
	wide, wideErr := read[int32, int64](t, 7)
	if err != nil || wideErr != nil || narrow != -3 || wide != 7 {
		t.Errorf("%d and %d, %v, %v", narrow, wide, err, wideErr)
	}
	_, err = read[int64, int32](t, 1<<40)
	wantError(t, err, "f: column v, row 1: 1099511627776 is no whole number of 32 bits")
}

// TestMomentsAreNoNumbers reads a column of times, of another writer, as numbers.
func TestMomentsAreNoNumbers(t *testing.T) {
	moment := schema.MustPrimitive(schema.NewPrimitiveNodeLogical("v", parquet.Repetitions.Required,
		schema.NewTimestampLogicalType(true, schema.TimeUnitMicros), parquet.Types.Int64, -1, -1))
	var b bytes.Buffer
	if err := file.NewParquetWriter(&b, schema.MustGroup(schema.NewGroupNode("rows", parquet.Repetitions.Required, schema.FieldList{moment}, -1))).Close(); err != nil {
		t.Fatal(err)
	}
	_, _, err := rowfile.Decode[column[int64]](b.Bytes(), "f")
	wantError(t, err, "f: column v has type INT64 Timestamp")
}

// TestWholeNumbersMayBeTexts reads ids that another program has written as numbers.
func TestWholeNumbersMayBeTexts(t *testing.T) {
	type numbered struct {
		ID    int64  `parquet:"id"`
		Small *int32 `parquet:"small"`
	}
	type named struct {
		ID    string  `parquet:"id"`
		Small *string `parquet:"small"`
	}
	rows, _, err := rowfile.Decode[named](encode(t, []numbered{{ID: -7}, {ID: 1 << 60, Small: new(int32(3))}}), "a.parquet")
	if err != nil || len(rows) != 2 || rows[0].ID != "-7" || rows[0].Small != nil || rows[1].ID != "1152921504606846976" || *rows[1].Small != "3" {
		t.Errorf("%+v, %v", rows, err)
	}
}

func TestFaultsNameFileColumnAndRow(t *testing.T) {
	type mistyped struct {
		Name float64 `parquet:"name"`
	}
	type required struct {
		Maybe float64 `parquet:"maybe"`
	}
	data := encode(t, someRows(10))
	_, _, err := rowfile.Decode[mistyped](data, "a.parquet")
	wantError(t, err, "a.parquet: column name has type BYTE_ARRAY String, want DOUBLE")
	_, _, err = rowfile.Decode[required](data, "a.parquet")
	wantError(t, err, "a.parquet: column maybe, row 2: null in a column that needs a value")

	_, _, err = rowfile.Decode[row](nil, "a.parquet")
	wantError(t, err, "a.parquet: the file is empty")
	_, _, err = rowfile.Decode[row]([]byte("benchmark,model\n"), "a.csv")
	wantError(t, err, "a.csv: not a Parquet file")
	_, _, err = rowfile.Decode[row](data[:len(data)-3], "a.parquet")
	wantError(t, err, "a.parquet: truncated Parquet file")
	_, _, err = rowfile.ReadFile[row]("testdata/absent.parquet")
	wantError(t, err, "testdata/absent.parquet")
}

func TestEveryTruncationIsAnError(t *testing.T) {
	data := encode(t, someRows(50))
	for n := range data {
		if _, _, err := rowfile.Decode[row](data[:n], "cut.parquet"); err == nil {
			t.Fatalf("the first %d of %d bytes were read without an error", n, len(data))
		}
	}
}

// Every byte damaged in turn: an error or other values, but never a panic, and
// never a hang (the library loops on short pages unless they are checked), and
// no gigabytes for what a zstd frame claims.
func TestDamagedBytesNeverPanicOrHang(t *testing.T) {
	data := encode(t, someRows(50))
	for i := range data {
		damaged := bytes.Clone(data)
		damaged[i] ^= []byte{1, 0xff, 0x80}[i%3]
		_, _, _ = rowfile.Decode[row](damaged, "damaged.parquet")
	}
}

// claims makes a file of 1000 rows with one column claim one row more, a number of times, and
// reads it. 1000 and 1001 are the varints d0 0f and d2 0f of the page header, the column
// and the row group.
func claims[V any](t *testing.T, value func(i int) V) func(times int) error {
	var rows []column[V]
	for i := range 1000 {
		rows = append(rows, column[V]{value(i)})
	}
	data := encode(t, rows)
	return func(times int) error {
		_, _, err := rowfile.Decode[column[V]](bytes.Replace(data, []byte{0xd0, 0x0f}, []byte{0xd2, 0x0f}, times), "f")
		return err
	}
}

// A page that claims more values than it holds sends the library into an endless loop,
// unless pages are checked first.
func TestPagesThatClaimTooMuchAreErrors(t *testing.T) {
	text := func(i int) string { return fmt.Sprint(i % 7) }
	const fewer = "column v: damaged Parquet file: a page holds fewer values than it claims"
	for _, file := range []struct {
		read func(times int) error
		want string // where the library notices
	}{
		{claims(t, text), "column v: damaged Parquet file: parquet: dict eof"},
		{claims(t, func(i int) *string { return maybe(i, text(i)) }), fewer},
		{claims(t, func(i int) int32 { return int32(i * i) }), "column v: damaged Parquet file: parquet: eof"},
		{claims(t, func(i int) bool { return i%3 == 0 }), "column v: row group 1: damaged Parquet file: "},
		{claims(t, func(i int) *float64 { return maybe(i, 0.0) }), fewer},
	} {
		wantError(t, file.read(-1), "f: "+file.want)
		wantError(t, file.read(1), "a page claims 1001 values where 1000 are left") // the page header alone
	}
}

// maybe is a value in two rows of three.
func maybe[V any](i int, v V) *V {
	if i%3 == 0 {
		return nil
	}
	return &v
}

func TestUnusableRowTypesAreErrors(t *testing.T) {
	type untagged struct{ N int32 }
	type unsupported struct {
		N []int32 `parquet:"n"`
	}
	type pointed struct{ *Key }
	type named struct{ Key Key }
	type tagged struct {
		Key `parquet:"key"`
	}
	wantError(t, rowfile.Write(&bytes.Buffer{}, []untagged{{1}}, nil), "parquet tag")
	wantError(t, rowfile.Write(&bytes.Buffer{}, []pointed{{}}, nil), "parquet tag")
	wantError(t, rowfile.Write(&bytes.Buffer{}, []named{{}}, nil), "parquet tag")
	wantError(t, rowfile.Write(&bytes.Buffer{}, []tagged{{}}, nil), "has type rowfile_test.Key")
	wantError(t, rowfile.Write(&bytes.Buffer{}, []unsupported{{}}, nil), "[]int32")
	wantError(t, rowfile.Write(&bytes.Buffer{}, []row{{}, {Name: "\xff"}}, nil), "column name: row 2")
	wantError(t, rowfile.Write(&bytes.Buffer{}, []row{}, map[string]string{"k": "\xff"}), "footer")
}

// limited is a writer whose disk is full after n bytes.
type limited struct{ n int }

var errFull = errors.New("disk full")

func (l *limited) Write(p []byte) (int, error) {
	if l.n -= len(p); l.n < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestEveryWriteErrorIsReported(t *testing.T) {
	size := len(encode(t, someRows(100)))
	for n := 0; n < size; n += 41 {
		if err := rowfile.Write(&limited{n}, someRows(100), footer); err == nil {
			t.Fatalf("a disk full after %d of %d bytes went unnoticed", n, size)
		}
	}
	if err := rowfile.Write(&limited{size}, someRows(100), footer); err != nil {
		t.Fatal(err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(encode(f, someRows(0)))
	f.Add(encode(f, someRows(3)))
	f.Add(encode(f, someRows(300)))
	f.Add([]byte("PAR1PAR1PAR1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, _, err := rowfile.Decode[row](data, "fuzz.parquet")
		if err == nil {
			var b bytes.Buffer
			if err := rowfile.Write(&b, rows, nil); err != nil {
				t.Fatalf("rows that were read cannot be written: %v", err)
			}
			return
		}
		if !strings.HasPrefix(err.Error(), "fuzz.parquet: ") {
			t.Errorf("error %q does not name the file", err)
		}
	})
}

func wantError(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("error %q, want one with %q", fmt.Sprint(err), text)
	}
}

// A file may lack a column that says so, and no other.
func TestColumnsThatMayBeLacking(t *testing.T) {
	type long struct {
		V int32    `parquet:"v"`
		B *float64 `parquet:"b,maybe"`
		C string   `parquet:"c,maybe"`
	}
	rows, _, err := rowfile.Decode[long](encode(t, []column[int32]{{1}, {2}}), "f")
	if want := []long{{V: 1}, {V: 2}}; err != nil || !slices.Equal(rows, want) {
		t.Errorf("got %v, %v", rows, err)
	}
	if rows, _, err := rowfile.Decode[long](encode(t, []long{{1, nil, "x"}}), "f"); err != nil || rows[0].C != "x" {
		t.Errorf("got %v, %v", rows, err)
	}
}
