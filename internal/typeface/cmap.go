package typeface

import (
	"encoding/binary"
	"errors"
)

// segment is a run of characters in the font's map to glyphs (format 4).
type segment struct {
	first, last rune
	delta       uint16
	glyphs      []byte // of the run, two bytes each; nil where delta says all
}

func (s segment) glyph(r rune) uint16 {
	if s.glyphs == nil {
		return uint16(r) + s.delta
	}
	at := 2 * int(r-s.first)
	if at+2 > len(s.glyphs) {
		return 0
	}
	g := binary.BigEndian.Uint16(s.glyphs[at:])
	if g == 0 {
		return 0
	}
	return g + s.delta
}

// readSegments finds the map of Unicode's basic plane.
func (f *Face) readSegments() error {
	cmap := f.tables["cmap"]
	for i := range int(binary.BigEndian.Uint16(cmap[2:])) {
		entry, err := slice(cmap, 4+8*i, 8)
		if err != nil {
			return err
		}
		platform, encoding := binary.BigEndian.Uint16(entry), binary.BigEndian.Uint16(entry[2:])
		if platform != 3 || encoding != 1 {
			continue
		}
		at := int(binary.BigEndian.Uint32(entry[4:]))
		head, err := slice(cmap, at, 14)
		if err != nil {
			return err
		}
		if binary.BigEndian.Uint16(head) != 4 {
			continue
		}
		table, err := slice(cmap, at, min(int(binary.BigEndian.Uint16(head[2:])), len(cmap)-at))
		if err != nil {
			return err
		}
		return f.readFormat4(table)
	}
	return errors.New("font: no map from Unicode to glyphs")
}

// readFormat4 reads the four parallel lists of a map: last characters, first
// characters, deltas, and offsets into the glyphs that follow.
func (f *Face) readFormat4(table []byte) error {
	if len(table) < 14 {
		return errors.New("font: the map of characters is too short")
	}
	n := int(binary.BigEndian.Uint16(table[6:])) / 2
	if len(table) < 16+8*n {
		return errors.New("font: the map of characters is too short")
	}
	at := func(list, i int) uint16 {
		pad := 0
		if list > 0 {
			pad = 2
		}
		return binary.BigEndian.Uint16(table[14+pad+2*(list*n+i):])
	}
	for i := range n {
		s := segment{first: rune(at(1, i)), last: rune(at(0, i)), delta: at(2, i)}
		if offset := int(at(3, i)); offset != 0 {
			from := 16 + 2*(3*n+i) + offset
			if from > len(table) {
				return errors.New("font: the map of characters points outside itself")
			}
			s.glyphs = table[from:]
		}
		f.segments = append(f.segments, s)
	}
	return nil
}

// makeMap is a map of format 4 with a run for each character, and the run that
// ends every map. Characters rise.
func makeMap(chars []rune, glyph map[rune]uint16) []byte {
	n := len(chars) + 1
	var last, first, delta, offset []byte
	for _, r := range append(chars[:len(chars):len(chars)], 0xFFFF) {
		g, d := glyph[r], uint16(1)
		if r != 0xFFFF {
			d = g - uint16(r)
		}
		last, first = binary.BigEndian.AppendUint16(last, uint16(r)), binary.BigEndian.AppendUint16(first, uint16(r))
		delta, offset = binary.BigEndian.AppendUint16(delta, d), binary.BigEndian.AppendUint16(offset, 0)
	}
	power, log := 1, 0
	for 2*power <= n {
		power, log = 2*power, log+1
	}
	out := words(0, 1, 3, 1, 0, 12, 4, uint16(16+8*n), 0, uint16(2*n), uint16(2*power), uint16(log), uint16(2*(n-power)))
	for _, part := range [][]byte{last, {0, 0}, first, delta, offset} {
		out = append(out, part...)
	}
	return out
}

// words is 16-bit numbers as a font stores them.
func words(values ...uint16) []byte {
	var out []byte
	for _, v := range values {
		out = binary.BigEndian.AppendUint16(out, v)
	}
	return out
}
