package parquetfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/schema"
)

// maxDictionary is how many values a dictionary may have: the library makes 24
// bytes for each. Writers give dictionaries up at some megabytes of values.
const maxDictionary = 1 << 22

// checkedPages lets a data page through only if it holds the values that its
// header claims. The library trusts the header: it loops for ever on levels
// or dictionary indices that end early, and allocates what a dictionary
// claims.
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

var (
	errShortPage = errors.New("a page holds fewer values than it claims")
	errLevels    = errors.New("a page has levels that cannot be read")
)

func (p *checkedPages) check(page file.Page) error {
	claimed := int64(page.NumValues())
	if _, ok := page.(*file.DictionaryPage); ok {
		if claimed > int64(len(page.Data())) {
			return errShortPage
		}
		if claimed > maxDictionary {
			return fmt.Errorf("a dictionary has %d values, at most %d can be read", claimed, maxDictionary)
		}
		return nil
	}
	repetition, definition, data, err := p.parts(page)
	if err != nil {
		return err
	}
	if claimed > p.left {
		return fmt.Errorf("a page claims %d values where %d are left", claimed, p.left)
	}
	p.left -= claimed
	if p.column.MaxRepetitionLevel() > 0 {
		if hybridRuns(repetition, 1, claimed) < claimed {
			return errShortPage
		}
	}
	present := claimed
	if level := p.column.MaxDefinitionLevel(); level > 0 {
		covered, full := levelsAt(definition, level, claimed)
		if covered < claimed {
			return errShortPage
		}
		present = full
	}
	return checkValues(parquet.Encoding(page.Encoding()), data, present)
}

// parts cuts a data page into its levels, which columns without nulls and without
// lists do not have, and its values.
func (p *checkedPages) parts(page file.Page) (repetition, definition, data []byte, err error) {
	data = page.Data()
	switch page := page.(type) {
	case *file.DataPageV1:
		if p.column.MaxRepetitionLevel() > 0 {
			if repetition, data, err = cutLevels(data, page.RepetitionLevelEncoding()); err != nil {
				return nil, nil, nil, err
			}
		}
		if p.column.MaxDefinitionLevel() > 0 {
			if definition, data, err = cutLevels(data, page.DefinitionLevelEncoding()); err != nil {
				return nil, nil, nil, err
			}
		}
	case *file.DataPageV2:
		from, size := int64(page.RepetitionLevelByteLen()), int64(page.DefinitionLevelByteLen())
		if from+size > int64(len(data)) {
			return nil, nil, nil, errShortPage
		}
		repetition, definition, data = data[:from], data[from:from+size], data[from+size:]
	}
	return repetition, definition, data, nil
}

// cutLevels cuts levels off data that begin with the length of them in four bytes.
func cutLevels(data []byte, encoding parquet.Encoding) (levels, rest []byte, err error) {
	if encoding != parquet.Encodings.RLE || len(data) < 4 {
		return nil, nil, errLevels
	}
	size := int64(binary.LittleEndian.Uint32(data))
	if size > int64(len(data)-4) {
		return nil, nil, errShortPage
	}
	return data[4 : 4+size], data[4+size:], nil
}

// checkValues checks that data encodes count values, for the encodings whose
// end the library does not notice, and refuses encodings that common writers
// do not use by default.
func checkValues(encoding parquet.Encoding, data []byte, count int64) error {
	switch encoding {
	case parquet.Encodings.Plain:
		return nil // the library notices
	case parquet.Encodings.PlainDict, parquet.Encodings.RLEDict:
		if count == 0 {
			return nil
		}
		if len(data) == 0 || data[0] > 32 {
			return errShortPage
		}
		if hybridRuns(data[1:], int(data[0]), count) < count {
			return errShortPage
		}
		return nil
	case parquet.Encodings.RLE: // booleans, behind a length in four bytes
		if len(data) < 4 {
			return errShortPage
		}
		if hybridRuns(data[4:], 1, count) < count {
			return errShortPage
		}
		return nil
	}
	return fmt.Errorf("encoding %s is not supported, write the file with plain or dictionary encoding", encoding)
}

// maxLevel is that of a list that may be null, of texts that may be: 1 for a list,
// 2 for a place in it, 3 for a text there.
const maxLevel = 3

// hybridRuns walks data in Parquet's hybrid of run-length and bit-packed runs of
// the given bit width, up to n values, and tells how many are there.
func hybridRuns(data []byte, width int, n int64) (covered int64) {
	return walkRuns(data, width, n, func([]byte, bool, int64) {})
}

// levelsAt counts the levels among the first n, of at most the given one, and
// those that are equal to it.
func levelsAt(data []byte, level int16, n int64) (covered, equal int64) {
	width := bits.Len16(uint16(level))
	covered = walkRuns(data, width, n, func(run []byte, packed bool, count int64) {
		switch {
		case !packed && run[0] == byte(level):
			equal += count
		case packed && width == 1:
			equal += onesIn(run, count)
		case packed:
			equal += pairsIn(run, byte(level), count)
		}
	})
	return covered, equal
}

// walkRuns calls each with every run and the number of values that count in it.
func walkRuns(data []byte, width int, n int64, each func(run []byte, packed bool, count int64)) (covered int64) {
	for covered < n {
		header, size := binary.Uvarint(data)
		count := int64(header >> 1)
		if size <= 0 || count == 0 || header>>1 > math.MaxInt32/8 {
			return covered
		}
		data = data[size:]
		var length int64 // bytes
		packed := header&1 == 1
		if packed {
			length, count = count*int64(width), count*8
		} else {
			length = int64(width+7) / 8
		}
		if length > int64(len(data)) {
			return covered
		}
		count = min(count, n-covered)
		each(data[:length], packed, count)
		covered += count
		data = data[length:]
	}
	return covered
}

// onesIn counts the values 1 among the first count, a bit each.
func onesIn(run []byte, count int64) (ones int64) {
	for i := range run {
		if rest := count - 8*int64(i); rest < 8 {
			return ones + int64(bits.OnesCount8(run[i]&(1<<max(rest, 0)-1)))
		}
		ones += int64(bits.OnesCount8(run[i]))
	}
	return ones
}

// pairsIn counts the values equal to level among the first count, two bits each.
func pairsIn(run []byte, level byte, count int64) (equal int64) {
	for i := range count {
		if run[i/4]>>(2*(i%4))&3 == level {
			equal++
		}
	}
	return equal
}
