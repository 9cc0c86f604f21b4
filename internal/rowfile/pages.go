package rowfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/file"
)

// checkedPages lets a data page through only if it holds the values that its
// header claims. The library trusts the header: it loops for ever on levels
// or dictionary indices that end early, and allocates what a dictionary
// claims.
type checkedPages struct {
	file.PageReader
	nullable bool  // pages begin with definition levels
	left     int64 // values of the column that no page has held yet
	err      error
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
	var levels []byte
	switch page := page.(type) {
	case *file.DictionaryPage:
		if claimed > int64(len(data)) {
			return errShortPage
		}
		return nil
	case *file.DataPageV1:
		if p.nullable {
			if page.DefinitionLevelEncoding() != parquet.Encodings.RLE || len(data) < 4 {
				return errors.New("a page has levels that cannot be read")
			}
			size := int64(binary.LittleEndian.Uint32(data))
			if size > int64(len(data)-4) {
				return errShortPage
			}
			levels, data = data[4:4+size], data[4+size:]
		}
	case *file.DataPageV2:
		from, size := int64(page.RepetitionLevelByteLen()), int64(page.DefinitionLevelByteLen())
		if from+size > int64(len(data)) {
			return errShortPage
		}
		levels, data = data[from:from+size], data[from+size:]
	}
	if claimed > p.left {
		return fmt.Errorf("a page claims %d values where %d are left", claimed, p.left)
	}
	p.left -= claimed
	present := claimed
	if p.nullable {
		covered, ones := hybridRuns(levels, 1, claimed)
		if covered < claimed {
			return errShortPage
		}
		present = ones
	}
	return checkValues(parquet.Encoding(page.Encoding()), data, present)
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
		if covered, _ := hybridRuns(data[1:], int(data[0]), count); covered < count {
			return errShortPage
		}
		return nil
	case parquet.Encodings.RLE: // booleans, behind a length in four bytes
		if len(data) < 4 {
			return errShortPage
		}
		if covered, _ := hybridRuns(data[4:], 1, count); covered < count {
			return errShortPage
		}
		return nil
	}
	return fmt.Errorf("encoding %s is not supported, write the file with plain or dictionary encoding", encoding)
}

// hybridRuns walks data in Parquet's hybrid of run-length and bit-packed
// runs of the given bit width, and counts the values among the first n that
// are there and, for width 1, those that are 1.
func hybridRuns(data []byte, width int, n int64) (covered, ones int64) {
	for covered < n {
		header, size := binary.Uvarint(data)
		count := int64(header >> 1)
		if size <= 0 || count == 0 || header>>1 > math.MaxInt32/8 {
			return covered, ones
		}
		data = data[size:]
		var run int64 // bytes
		packed := header&1 == 1
		if packed {
			run, count = count*int64(width), count*8
		} else {
			run = int64(width+7) / 8
		}
		if run > int64(len(data)) {
			return covered, ones
		}
		count = min(count, n-covered)
		if width == 1 {
			ones += onesIn(data[:run], packed, count)
		}
		covered += count
		data = data[run:]
	}
	return covered, ones
}

// onesIn counts the values 1 among the first count of a run of width 1.
func onesIn(run []byte, packed bool, count int64) (ones int64) {
	if !packed {
		if run[0] == 1 {
			return count
		}
		return 0
	}
	for i := range run {
		if rest := count - 8*int64(i); rest < 8 {
			return ones + int64(bits.OnesCount8(run[i]&(1<<max(rest, 0)-1)))
		}
		ones += int64(bits.OnesCount8(run[i]))
	}
	return ones
}
