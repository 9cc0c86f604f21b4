package parquetfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/schema"
)

// checkedPages lets a page through only if it can hold the values that its header
// claims. The library trusts the header: it loops for ever on levels that end early,
// and makes room for what a dictionary claims.
type checkedPages struct {
	file.PageReader
	column *schema.Column
	left   int64     // values of the column that no page has held yet
	plain  file.Page // the page, if it has another encoding than in the file
	err    error
}

// Next fetches and checks the next page.
func (p *checkedPages) Next() bool {
	if !p.PageReader.Next() {
		return false
	}
	p.plain = nil
	p.err = p.check(p.PageReader.Page())
	return p.err == nil
}

// Page is the page that Next has fetched.
func (p *checkedPages) Page() file.Page {
	if p.plain != nil {
		return p.plain
	}
	return p.PageReader.Page()
}

// Err is the error for which Next returned false, or nil at the end.
func (p *checkedPages) Err() error {
	if p.err != nil {
		return p.err
	}
	return p.PageReader.Err()
}

var errShortPage = errors.New("a page holds fewer values than it claims")

func (p *checkedPages) check(page file.Page) error {
	claimed, data := int64(page.NumValues()), page.Data()
	split := page.Encoding() == byteStreamSplit
	if _, ok := page.(*file.DictionaryPage); ok {
		if claimed > int64(len(data)) {
			return errShortPage
		}
		return nil
	}
	if p.left -= claimed; p.left < 0 {
		return fmt.Errorf("a page claims %d values where %d are left", claimed, p.left+claimed)
	}
	switch page := page.(type) {
	case *file.DataPageV1:
		for _, level := range []int16{p.column.MaxRepetitionLevel(), p.column.MaxDefinitionLevel()} {
			if level == 0 {
				continue
			}
			if len(data) < 4 || int64(binary.LittleEndian.Uint32(data)) > int64(len(data)-4) {
				return errShortPage
			}
			end := 4 + binary.LittleEndian.Uint32(data)
			if !hasLevels(data[4:end], level, claimed) {
				return errShortPage
			}
			data = data[end:]
		}
		if split {
			p.plain = file.NewDataPageV1(p.joined(page.Data(), data), page.NumValues(), parquet.Encodings.Plain,
				parquet.Encoding(page.DefinitionLevelEncoding()), parquet.Encoding(page.RepetitionLevelEncoding()), page.UncompressedSize())
		}
	case *file.DataPageV2:
		from, end := int64(page.RepetitionLevelByteLen()), int64(page.RepetitionLevelByteLen())+int64(page.DefinitionLevelByteLen())
		if end > int64(len(data)) || !hasLevels(data[:from], p.column.MaxRepetitionLevel(), claimed) || !hasLevels(data[from:end], p.column.MaxDefinitionLevel(), claimed) {
			return errShortPage
		}
		if split {
			p.plain = file.NewDataPageV2(p.joined(data, data[end:]), page.NumValues(), page.NumNulls(), page.NumRows(), parquet.Encodings.Plain,
				page.DefinitionLevelByteLen(), page.RepetitionLevelByteLen(), page.UncompressedSize(), page.IsCompressed())
		}
	}
	return nil
}

// byteStreamSplit is the encoding of numbers, by DuckDB and others, in which first byte 0 of
// every value stands, then byte 1 of every value, and so on. The library does not read it.
const byteStreamSplit = 9

// joined is the data of a page in the plain encoding; values are its last part.
func (p *checkedPages) joined(data, values []byte) *memory.Buffer {
	width := p.column.PhysicalType().ByteSize()
	plain := slices.Clone(data)
	to := plain[len(data)-len(values):]
	n := len(values) / width
	for i := range n {
		for k := range width {
			to[i*width+k] = values[k*n+i]
		}
	}
	return memory.NewBufferBytes(plain)
}

// hasLevels reports whether data, in Parquet's hybrid of run-length and bit-packed runs,
// has n levels; columns without nulls and without lists have no levels.
func hasLevels(data []byte, highest int16, n int64) bool {
	width := int64(bits.Len16(uint16(highest)))
	for n > 0 && width > 0 {
		header, size := binary.Uvarint(data)
		count := int64(header >> 1)
		if size <= 0 || count == 0 || count > maxRun {
			return false
		}
		length := (width + 7) / 8 // of a repeated level
		if header&1 == 1 {
			length, count = count*width, count*8
		}
		if data = data[size:]; length > int64(len(data)) {
			return false
		}
		data, n = data[length:], n-count
	}
	return true
}

// maxRun is the highest count of a run that a page of the largest size has.
const maxRun = 1 << 31
