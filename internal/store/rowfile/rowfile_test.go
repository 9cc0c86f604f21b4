package rowfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
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
	type sparse struct {
		Maybe *float64 `parquet:"maybe"`
	}
	one := 1.0
	for _, cell := range []*float64{nil, &one} {
		want := make([]sparse, 20_000)
		for i := range want {
			want[i].Maybe = cell
		}
		got, _, err := rowfile.Decode[sparse](encode(t, want), "rows.parquet")
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("cells %v: other rows came back", cell)
		}
	}
}

func TestSameRowsGiveSameBytes(t *testing.T) {
	first := encode(t, someRows(5000))
	for range 5 {
		if !bytes.Equal(first, encode(t, someRows(5000))) {
			t.Fatal("the same rows gave other bytes")
		}
	}
}

func TestFurtherColumnsAndOtherOrderAreFine(t *testing.T) {
	type fewer struct {
		Value float64 `parquet:"value"`
		Name  string  `parquet:"name"`
	}
	got, _, err := rowfile.Decode[fewer](encode(t, someRows(10)), "rows.parquet")
	if err != nil {
		t.Fatal(err)
	}
	if got[9] != (fewer{3, "task-9"}) {
		t.Errorf("row 9 is %v", got[9])
	}
}

// narrow, wide and float are one column in three types.
type (
	narrow struct {
		N int32 `parquet:"n"`
	}
	wide struct {
		N int64 `parquet:"n"`
	}
	float struct {
		N float64 `parquet:"n"`
	}
)

func TestIntegerWidths(t *testing.T) {
	got, _, err := rowfile.Decode[narrow](encode(t, []wide{{7}, {-3}}), "wide.parquet")
	if err != nil || got[0].N != 7 || got[1].N != -3 {
		t.Errorf("int64 column into int32: %v, %v", got, err)
	}
	back, _, err := rowfile.Decode[wide](encode(t, []narrow{{7}}), "narrow.parquet")
	if err != nil || back[0].N != 7 {
		t.Errorf("int32 column into int64: %v, %v", back, err)
	}
	_, _, err = rowfile.Decode[narrow](encode(t, []wide{{7}, {1 << 40}}), "wide.parquet")
	wantError(t, err, "wide.parquet: column n, row 2: 1099511627776 is no whole number of 32 bits")
}

// TestNumbersOfOtherTypes reads floats and integers into one another, as far as nothing is
// lost.
func TestNumbersOfOtherTypes(t *testing.T) {
	for _, v := range []float64{0, -3, 1 << 40, 1e18} {
		rows, _, err := rowfile.Decode[wide](encode(t, []float{{v}}), "f")
		if err != nil || float64(rows[0].N) != v {
			t.Errorf("%v as an integer: %v, %v", v, rows, err)
		}
	}
	for _, v := range []float64{0.5, 1e30, -1e19, math.NaN(), math.Inf(1)} {
		_, _, err := rowfile.Decode[wide](encode(t, []float{{v}}), "f")
		wantError(t, err, fmt.Sprintf("f: column n, row 1: %v is no whole number of 64 bits", v))
	}
	_, _, err := rowfile.Decode[float](encode(t, []wide{{1<<53 + 1}}), "f")
	wantError(t, err, "row 1: 9007199254740993 is no")
	if rows, _, err := rowfile.Decode[float](encode(t, []wide{{1 << 60}}), "f"); err != nil || rows[0].N != 1<<60 {
		t.Errorf("%v, %v", rows, err)
	}
}

// TestMomentsAreNoNumbers reads a column of times, of another writer, as numbers.
func TestMomentsAreNoNumbers(t *testing.T) {
	moment := schema.MustPrimitive(schema.NewPrimitiveNodeLogical("v", parquet.Repetitions.Required,
		schema.NewTimestampLogicalType(true, schema.TimeUnitMicros), parquet.Types.Int64, -1, -1))
	var b bytes.Buffer
	if err := file.NewParquetWriter(&b, schema.MustGroup(schema.NewGroupNode("rows", parquet.Repetitions.Required, schema.FieldList{moment}, -1))).Close(); err != nil {
		t.Fatal(err)
	}
	type number struct {
		V int64 `parquet:"v"`
	}
	_, _, err := rowfile.Decode[number](b.Bytes(), "f")
	wantError(t, err, "f: column v has type INT64 Timestamp")
}

func TestFaultsNameFileColumnAndRow(t *testing.T) {
	type missing struct {
		Other string `parquet:"other"`
	}
	type mistyped struct {
		Name float64 `parquet:"name"`
	}
	type required struct {
		Maybe float64 `parquet:"maybe"`
	}
	data := encode(t, someRows(10))
	_, _, err := rowfile.Decode[missing](data, "a.parquet")
	wantError(t, err, "a.parquet: column other is missing")
	_, _, err = rowfile.Decode[mistyped](data, "a.parquet")
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

// A page that claims more values than it holds sends the library into an
// endless loop, unless pages are checked first. 1000 and 1001 are the varints
// d0 0f and d2 0f of the page header, the column and the row group.
func TestPagesThatClaimTooMuchAreErrors(t *testing.T) {
	claim := func(data []byte, times int) []byte {
		return bytes.Replace(data, []byte{0xd0, 0x0f}, []byte{0xd2, 0x0f}, times)
	}
	for name, data := range thousands(t) {
		want := name + ": column v: damaged Parquet file: a page holds fewer values than it claims"
		switch name { // where the library notices
		case "texts":
			want = name + ": column v: damaged Parquet file: parquet: dict eof"
		case "integers":
			want = name + ": column v: damaged Parquet file: parquet: eof"
		case "yesses":
			want = name + ": column v: row group 1: damaged Parquet file: "
		}
		_, err := decodeThousand(name, claim(data, -1))
		wantError(t, err, want)
		_, err = decodeThousand(name, claim(data, 1)) // the page header alone
		wantError(t, err, "a page claims 1001 values where 1000 are left")
	}
}

type (
	texts struct {
		V string `parquet:"v"`
	}
	maybes struct {
		V *string `parquet:"v"`
	}
	integers struct {
		V int32 `parquet:"v"`
	}
	yesses struct {
		V bool `parquet:"v"`
	}
	numbers struct {
		V *float64 `parquet:"v"`
	}
)

// thousands holds files of 1000 rows with one column each.
func thousands(t *testing.T) map[string][]byte {
	var a [1000]texts
	var b [1000]maybes
	var c [1000]integers
	var d [1000]yesses
	var e [1000]numbers
	for i := range 1000 {
		a[i].V, c[i].V, d[i].V = fmt.Sprint(i%7), int32(i*i), i%3 == 0
		if i%3 > 0 {
			b[i].V, e[i].V = &a[i].V, new(float64)
		}
	}
	return map[string][]byte{
		"texts": encode(t, a[:]), "maybes": encode(t, b[:]), "integers": encode(t, c[:]),
		"yesses": encode(t, d[:]), "numbers": encode(t, e[:]),
	}
}

func decodeThousand(name string, data []byte) (rows any, err error) {
	switch name {
	case "texts":
		rows, _, err = rowfile.Decode[texts](data, name)
	case "maybes":
		rows, _, err = rowfile.Decode[maybes](data, name)
	case "integers":
		rows, _, err = rowfile.Decode[integers](data, name)
	case "yesses":
		rows, _, err = rowfile.Decode[yesses](data, name)
	case "numbers":
		rows, _, err = rowfile.Decode[numbers](data, name)
	}
	return rows, err
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
	type short struct {
		A int32 `parquet:"a"`
	}
	type long struct {
		A int32    `parquet:"a"`
		B *float64 `parquet:"b,maybe"`
		C string   `parquet:"c,maybe"`
	}
	type strict struct {
		A int32    `parquet:"a"`
		B *float64 `parquet:"b"`
	}
	var file bytes.Buffer
	if err := rowfile.Write(&file, []short{{1}, {2}}, nil); err != nil {
		t.Fatal(err)
	}
	if rows, _, err := rowfile.Decode[long](file.Bytes(), "f"); err != nil || len(rows) != 2 || rows[1].A != 2 || rows[1].B != nil || rows[1].C != "" {
		t.Errorf("got %v, %v", rows, err)
	}
	if _, _, err := rowfile.Decode[strict](file.Bytes(), "f"); err == nil {
		t.Error("a column without the option was not missed")
	}
	file.Reset()
	if err := rowfile.Write(&file, []long{{1, nil, "x"}}, nil); err != nil {
		t.Fatal(err)
	}
	if rows, _, err := rowfile.Decode[long](file.Bytes(), "f"); err != nil || rows[0].C != "x" {
		t.Errorf("got %v, %v", rows, err)
	}
}
