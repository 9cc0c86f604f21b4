package parquetfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/schema"
)

// maxDictionary is how many values a dictionary may have: the library makes 24
// bytes for each. Writers give dictionaries up at some megabytes of values.
const maxDictionary = 1 << 22

// checkedPages lets a page through only if it can hold the values that its header
// claims. The library trusts the header: it loops for ever on levels that end early,
// and makes room for what a dictionary claims.
type checkedPages struct {
	file.PageReader
	column *schema.Column
	left   int64 // values of the column that no page has held yet
	err    error
}

// Next fetches and checks the next page.
func (p *checkedPages) Next() bool {
	if !p.PageReader.Next() {
		return false
	}
	p.err = p.check(p.PageReader.Page())
	return p.err == nil
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
	if _, ok := page.(*file.DictionaryPage); ok {
		if claimed > min(maxDictionary, int64(len(data))) {
			return fmt.Errorf("a dictionary of %d bytes claims %d values, at most %d can be read", len(data), claimed, maxDictionary)
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
			if !holds(data[4:end], level, claimed) {
				return errShortPage
			}
			data = data[end:]
		}
	case *file.DataPageV2:
		from, end := int64(page.RepetitionLevelByteLen()), int64(page.RepetitionLevelByteLen())+int64(page.DefinitionLevelByteLen())
		if end > int64(len(data)) || !holds(data[:from], p.column.MaxRepetitionLevel(), claimed) || !holds(data[from:end], p.column.MaxDefinitionLevel(), claimed) {
			return errShortPage
		}
	}
	return nil
}

// holds reports whether data, in Parquet's hybrid of run-length and bit-packed runs,
// has n levels; columns without nulls and without lists have no levels.
func holds(data []byte, highest int16, n int64) bool {
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
