package parquetfile

import (
	"encoding/binary"
	"math"
	"math/bits"
)

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
