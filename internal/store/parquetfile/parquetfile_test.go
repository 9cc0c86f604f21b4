package parquetfile_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/schema"

	"speceval/internal/store/parquetfile"
)

// footed is a file that is nothing but a footer.
func footed(footer []byte) []byte {
	b := append([]byte("PAR1\x00\x00\x00\x00"), footer...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(footer)))
	return append(b, "PAR1"...)
}

func TestFootersAreBounded(t *testing.T) {
	for name, test := range map[string]struct {
		footer []byte
		want   string
	}{
		"long":    {make([]byte, 17<<20), "its footer has 17825792 bytes, at most"},
		"cut off": {[]byte{0x15}, "damaged Parquet file: parquet: could not read footer"},
		"no text": {[]byte{0x68, 0xff, 0xff, 0x7f}, "damaged Parquet file: parquet: could not read footer"},
	} {
		if _, err := decode(footed(test.footer), 1<<20); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// entries is a column of lists of texts, or of texts, as Parquet has it.
type entries struct {
	repetition, definition []int16
	texts                  []string // where the definition level is the highest
}

// some are n entries of lists that may be null, with texts that may be, in runs of
// all lengths.
func some(seed uint64, n int) (e entries) {
	random := rand.New(rand.NewPCG(seed, 1))
	for len(e.definition) < n {
		level, repetition := int16(random.IntN(4)), int16(random.IntN(2))
		if level < 2 || len(e.definition) == 0 {
			repetition = 0
		}
		for range 1 + random.IntN(20)*random.IntN(2) {
			if len(e.definition) == n {
				break
			}
			e.definition = append(e.definition, level)
			e.repetition = append(e.repetition, repetition)
			if level == 3 {
				e.texts = append(e.texts, fmt.Sprint("text ", random.IntN(10)))
			}
		}
	}
	return e
}

func encode(t *testing.T, e entries, options ...parquet.WriterProperty) []byte {
	t.Helper()
	return encodeLists(t, 1, e, options...)
}

// encodeLists is encode for lists of lists, so deep.
func encodeLists(t *testing.T, depth int, e entries, options ...parquet.WriterProperty) []byte {
	t.Helper()
	var node schema.Node = schema.NewByteArrayNode("element", parquet.Repetitions.Optional, -1)
	for range depth {
		list, err := schema.ListOf(node, parquet.Repetitions.Optional, -1)
		if err != nil {
			t.Fatal(err)
		}
		node = list
	}
	root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, schema.FieldList{node}, -1)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	out := file.NewParquetWriter(&b, root, file.WithWriterProps(parquet.NewWriterProperties(options...)))
	column, err := out.AppendRowGroup().NextColumn()
	if err != nil {
		t.Fatal(err)
	}
	var values []parquet.ByteArray
	for _, text := range e.texts {
		values = append(values, parquet.ByteArray(text))
	}
	if _, err := column.(*file.ByteArrayColumnChunkWriter).WriteBatch(values, e.definition, e.repetition); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func decode(data []byte, maxPage int) (e entries, err error) {
	defer parquetfile.Recover("here", &err)
	f, err := parquetfile.Open(bytes.NewReader(data), int64(len(data)), maxPage)
	if err != nil {
		return e, err
	}
	reader, values, err := f.Column(f.RowGroup(0), 0)
	if err != nil {
		return e, err
	}
	for {
		var definition, repetition [7]int16
		var texts [7]parquet.ByteArray
		n, present, err := reader.(*file.ByteArrayColumnChunkReader).ReadBatch(7, texts[:], definition[:], repetition[:])
		if err == nil {
			err = reader.Err()
		}
		if err != nil || n == 0 && values != int64(len(e.definition)) {
			return e, fmt.Errorf("after %d of %d: %w", len(e.definition), values, err)
		}
		if n == 0 {
			return e, nil
		}
		e.definition, e.repetition = append(e.definition, definition[:n]...), append(e.repetition, repetition[:n]...)
		for _, text := range texts[:present] {
			e.texts = append(e.texts, string(text))
		}
	}
}

var versions = map[string][]parquet.WriterProperty{
	"dictionary":  {parquet.WithDictionaryDefault(true)},
	"plain":       {parquet.WithDictionaryDefault(false), parquet.WithDataPageSize(100), parquet.WithBatchSize(10)},
	"second":      {parquet.WithDataPageVersion(parquet.DataPageV2), parquet.WithDataPageSize(100), parquet.WithBatchSize(300)},
	"snappy":      {parquet.WithCompression(compress.Codecs.Snappy)},
	"gzip second": {parquet.WithCompression(compress.Codecs.Gzip), parquet.WithDataPageVersion(parquet.DataPageV2)},
	"brotli":      {parquet.WithCompression(compress.Codecs.Brotli)},
	"zstd":        {parquet.WithCompression(compress.Codecs.Zstd), parquet.WithCompressionLevel(1)},
}

func TestListsComeBack(t *testing.T) {
	for name, options := range versions {
		for seed := range uint64(20) {
			want := some(seed, 1+int(seed)*37)
			got, err := decode(encode(t, want, options...), 1<<20)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s, seed %d: %d entries of %d, %v", name, seed, len(got.definition), len(want.definition), err)
			}
		}
	}
}

// A page that claims more entries than it holds sends the library into an endless
// loop, unless levels are checked first. 1000 and 1001 are the varints d0 0f and
// d2 0f of the page header, the column and the row group.
func TestListsThatClaimTooMuchAreErrors(t *testing.T) {
	for _, name := range []string{"dictionary", "snappy", "zstd"} {
		data := encode(t, some(1, 1000), versions[name]...)
		for _, times := range []int{1, -1} {
			_, err := decode(bytes.Replace(data, []byte{0xd0, 0x0f}, []byte{0xd2, 0x0f}, times), 1<<20)
			want := "a page holds fewer values than it claims"
			if times == 1 {
				want = "a page claims 1001 values where 1000 are left"
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want %s", name, err, want)
			}
		}
	}
}

// The library makes room for as many values as a dictionary claims. 4c 15 02 is one value
// in the header of its page.
func TestDictionariesThatClaimTooMuchAreErrors(t *testing.T) {
	e := entries{repetition: []int16{0}, definition: []int16{3}, texts: []string{"text"}}
	data := encode(t, e, versions["dictionary"]...)
	_, err := decode(bytes.Replace(data, []byte{0x4c, 0x15, 0x02}, []byte{0x4c, 0x15, 0x7e}, 1), 1<<20)
	if err == nil || !strings.Contains(err.Error(), "a page holds fewer values than it claims") {
		t.Error(err)
	}
}

func TestPagesLargerThanAllowed(t *testing.T) {
	e := entries{repetition: []int16{0}, definition: []int16{3}, texts: []string{strings.Repeat("x", 5000)}}
	data := encode(t, e, versions["snappy"]...)
	if _, err := decode(data, 6000); err != nil {
		t.Error(err)
	}
	_, err := decode(data, 4000)
	if err == nil || !strings.Contains(err.Error(), "bytes, at most 4000 can be read") {
		t.Error(err)
	}
}

// Some writers leave out the data of a page without bytes, as where all values are null.
func TestPagesWithoutBytesNeedNoData(t *testing.T) {
	parquetfile.Codecs()
	const lz4Raw = 7 // in the format
	for _, name := range []compress.Compression{compress.Codecs.Snappy, compress.Codecs.Gzip, compress.Codecs.Brotli, compress.Codecs.Zstd, lz4Raw} {
		codec, err := compress.GetCodec(name)
		if err != nil {
			t.Fatal(err)
		}
		if page := codec.Decode([]byte{}, nil); len(page) != 0 {
			t.Errorf("%s: %d bytes", name, len(page))
		}
	}
}

// The first bytes of snappy's data claim its length, up to 4 GiB.
func TestSnappyThatClaimsTooMuchIsAnError(t *testing.T) {
	e := entries{repetition: []int16{0}, definition: []int16{3}, texts: []string{strings.Repeat("x", 200)}}
	data := encode(t, e, parquet.WithCompression(compress.Codecs.Snappy), parquet.WithDictionaryDefault(false))
	length := []byte{0xd8, 0x01} // of the page: twice 4 and 2 bytes of levels, 4 of the text's length, 200
	claimed := bytes.Replace(data, length, []byte{0xd8, 0x7f}, 1)
	if _, err := decode(data, 1<<20); err != nil {
		t.Fatal(err)
	}
	if _, err := decode(claimed, 1<<20); err == nil || !strings.Contains(err.Error(), "a page holds fewer values than it claims") {
		t.Error(err)
	}
}

func TestNestedColumnsAreRefused(t *testing.T) {
	data := encodeLists(t, 2, entries{repetition: []int16{0}, definition: []int16{5}, texts: []string{"x"}})
	if _, err := decode(data, 1<<20); err == nil || !strings.Contains(err.Error(), "deeper nested columns cannot be read") {
		t.Error(err)
	}
}
