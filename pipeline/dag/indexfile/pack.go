package indexfile

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
)

// Packer packs values into bytes: integers as varints, texts behind their length.
// A nil list or map stays nil, and an empty one empty.
type Packer struct {
	bytes       []byte
	maps, texts *sharing // of all entries
}

// sharing gives equal texts one number.
type sharing struct {
	number map[string]uint64
	texts  []string
}

func (s *sharing) of(text []byte) uint64 {
	if n, known := s.number[string(text)]; known {
		return n
	}
	if s.number == nil {
		s.number = make(map[string]uint64)
	}
	n := uint64(len(s.texts))
	s.number[string(text)] = n
	s.texts = append(s.texts, string(text))
	return n
}

// Uint packs an integer that is not negative.
func (p *Packer) Uint(n uint64) { p.bytes = binary.AppendUvarint(p.bytes, n) }

// Int packs an integer.
func (p *Packer) Int(n int64) { p.bytes = binary.AppendVarint(p.bytes, n) }

// Float packs a number.
func (p *Packer) Float(f float64) { p.fixed(math.Float64bits(f)) }

// Text packs single texts.
func (p *Packer) Text(texts ...string) {
	for _, s := range texts {
		p.Uint(uint64(len(s)))
		p.bytes = append(p.bytes, s...)
	}
}

// Texts packs a list of texts.
func (p *Packer) Texts(texts []string) {
	p.Count(len(texts), texts == nil)
	p.Text(texts...)
}

// Count packs the length of a list whose elements follow, each of a byte or more.
func (p *Packer) Count(n int, null bool) {
	if null {
		n = -1
	}
	p.Uint(uint64(n + 1))
}

// Pairs packs a map, sorted by name.
func (p *Packer) Pairs(pairs map[string]string) {
	p.Count(len(pairs), pairs == nil)
	for _, name := range slices.Sorted(maps.Keys(pairs)) {
		p.Text(name, pairs[name])
	}
}

// SharedPairs packs a map that many entries have, once for all of them.
func (p *Packer) SharedPairs(pairs map[string]string) {
	var own Packer
	own.Pairs(pairs)
	p.Uint(p.maps.of(own.bytes))
}

// SharedText packs the number of a text that many entries have, for
// [Unpacker.Uint]; the texts go to [Manifests].Share.
func (p *Packer) SharedText(text []byte) { p.Uint(p.texts.of(text)) }

func (p *Packer) fixed(n uint64) { p.bytes = binary.LittleEndian.AppendUint64(p.bytes, n) }

func (p *Packer) stamp(s stamp) {
	p.Int(s.size)
	p.fixed(uint64(s.modified))
	p.fixed(uint64(s.changed))
	p.fixed(s.inode)
}

// Unpacker takes packed values from an entry, in the order in which they were
// packed. After the first that is not there, the entry is discarded and every
// other value is zero. Texts share the memory of the index file.
type Unpacker struct {
	rest   string
	failed bool
	maps   []map[string]string
}

// Fail discards the entry: a value in it cannot be used.
func (u *Unpacker) Fail() { u.rest, u.failed = "", true }

// Uint is an integer that is not negative.
func (u *Unpacker) Uint() uint64 {
	var v uint64
	for i := 0; i < len(u.rest) && i < binary.MaxVarintLen64; i++ {
		v |= uint64(u.rest[i]&0x7f) << (7 * i)
		if u.rest[i] < 0x80 {
			u.rest = u.rest[i+1:]
			return v
		}
	}
	u.Fail()
	return 0
}

// Int is an integer.
func (u *Unpacker) Int() int64 {
	v := u.Uint()
	return int64(v>>1) ^ -int64(v&1)
}

// Float is a number.
func (u *Unpacker) Float() float64 { return math.Float64frombits(u.fixed()) }

// Text is a text.
func (u *Unpacker) Text() string {
	n := u.Uint()
	if n > uint64(len(u.rest)) {
		u.Fail()
		return ""
	}
	s := u.rest[:n]
	u.rest = u.rest[n:]
	return s
}

// Texts is a list of texts.
func (u *Unpacker) Texts() []string {
	n, null := u.Count()
	if null {
		return nil
	}
	texts := make([]string, n)
	for i := range texts {
		texts[i] = u.Text()
	}
	return texts
}

// Count is the length of a list whose elements follow.
func (u *Unpacker) Count() (n int, null bool) {
	v := u.Uint()
	if v > uint64(len(u.rest))+1 {
		u.Fail()
		return 0, false
	}
	return max(int(v)-1, 0), v == 0
}

// Pairs is a map.
func (u *Unpacker) Pairs() map[string]string {
	n, null := u.Count()
	if null {
		return nil
	}
	pairs := make(map[string]string, min(n, len(u.rest)/2))
	for range n {
		name := u.Text()
		pairs[name] = u.Text()
	}
	return pairs
}

// SharedPairs is a map that other entries have, too: it must not be changed.
func (u *Unpacker) SharedPairs() map[string]string {
	at := u.Uint()
	if at >= uint64(len(u.maps)) {
		u.Fail()
		return nil
	}
	return u.maps[at]
}

func (u *Unpacker) fixed() uint64 {
	if len(u.rest) < 8 {
		u.Fail()
		return 0
	}
	var v uint64
	for i := range 8 {
		v |= uint64(u.rest[i]) << (8 * i)
	}
	u.rest = u.rest[8:]
	return v
}

func (u *Unpacker) stamp() stamp {
	return stamp{size: u.Int(), modified: int64(u.fixed()), changed: int64(u.fixed()), inode: u.fixed()}
}
