package dag

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
)

// This file is how the index packs values into bytes: integers as varints, texts
// behind their length.

func packText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func packCount(b []byte, n int, null bool) []byte {
	if null {
		return append(b, 0)
	}
	return binary.AppendUvarint(b, uint64(n)+1)
}

func packFloat(b []byte, f float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
}

func packStamp(b []byte, s stamp) []byte {
	b = binary.AppendVarint(b, s.size)
	b = binary.LittleEndian.AppendUint64(b, uint64(s.modified))
	b = binary.LittleEndian.AppendUint64(b, uint64(s.changed))
	return binary.LittleEndian.AppendUint64(b, s.inode)
}

func packFiles(b []byte, files []File) []byte {
	b = packCount(b, len(files), files == nil)
	for _, f := range files {
		b = packText(packText(b, f.Path), f.SHA256)
		b = binary.AppendVarint(b, f.Bytes)
		b = binary.AppendVarint(b, int64(f.Rows))
		b = binary.AppendVarint(b, f.Modified)
	}
	return b
}

func packTexts(b []byte, texts []string) []byte {
	b = packCount(b, len(texts), texts == nil)
	for _, s := range texts {
		b = packText(b, s)
	}
	return b
}

// packed is text that values are taken from, one after the other. After the
// first that is not there, failed says so and all others are zero. Texts taken
// share its memory.
type packed struct {
	rest   string
	failed bool
}

func (p *packed) fail() {
	p.rest, p.failed = "", true
}

func (p *packed) uint() uint64 {
	var v uint64
	for i := 0; i < len(p.rest) && i < binary.MaxVarintLen64; i++ {
		v |= uint64(p.rest[i]&0x7f) << (7 * i)
		if p.rest[i] < 0x80 {
			p.rest = p.rest[i+1:]
			return v
		}
	}
	p.fail()
	return 0
}

func (p *packed) int() int64 {
	v := p.uint()
	return int64(v>>1) ^ -int64(v&1)
}

func (p *packed) text() string {
	n := p.uint()
	if n > uint64(len(p.rest)) {
		p.fail()
		return ""
	}
	s := p.rest[:n]
	p.rest = p.rest[n:]
	return s
}

func (p *packed) fixed() uint64 {
	if len(p.rest) < 8 {
		p.fail()
		return 0
	}
	var v uint64
	for i := range 8 {
		v |= uint64(p.rest[i]) << (8 * i)
	}
	p.rest = p.rest[8:]
	return v
}

// count is how many things follow, each of a byte or more.
func (p *packed) count() (n int, null bool) {
	v := p.uint()
	if v > uint64(len(p.rest))+1 {
		p.fail()
		return 0, false
	}
	return max(int(v)-1, 0), v == 0
}

func (p *packed) float() float64 { return math.Float64frombits(p.fixed()) }

func (p *packed) stamp() stamp {
	return stamp{size: p.int(), modified: int64(p.fixed()), changed: int64(p.fixed()), inode: p.fixed()}
}

func (p *packed) files() []File {
	n, null := p.count()
	if null {
		return nil
	}
	files := make([]File, n)
	for i := range files {
		files[i] = File{Path: p.text(), SHA256: p.text(), Bytes: p.int(), Rows: int(p.int()), Modified: p.int()}
	}
	return files
}

func (p *packed) texts() []string {
	n, null := p.count()
	if null {
		return nil
	}
	texts := make([]string, n)
	for i := range texts {
		texts[i] = p.text()
	}
	return texts
}

// packPairs packs a map, sorted by name.
func packPairs(b []byte, pairs map[string]string) []byte {
	b = packCount(b, len(pairs), pairs == nil)
	for _, name := range slices.Sorted(maps.Keys(pairs)) {
		b = packText(packText(b, name), pairs[name])
	}
	return b
}

func (p *packed) pairs() map[string]string {
	n, null := p.count()
	if null {
		return nil
	}
	pairs := make(map[string]string, min(n, len(p.rest)/2))
	for range n {
		name := p.text()
		pairs[name] = p.text()
	}
	return pairs
}
