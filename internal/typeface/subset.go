package typeface

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"unicode/utf16"
)

// Subset is a font of few characters.
type Subset struct {
	Data   []byte          // a TrueType font file
	Chars  []rune          // those that it prints, rising
	Glyph  map[rune]uint16 // the glyph of each
	Widths []float64       // the advance of each glyph, in ems
}

// Subset is the smallest font that prints the given characters as f does. The
// same characters, in any order, give the same bytes. One that f lacks prints
// as the box that stands for missing ones.
func (f *Face) Subset(name string, chars []rune) (Subset, error) {
	s := Subset{Glyph: map[rune]uint16{}}
	s.Chars = slices.Clone(chars)
	slices.Sort(s.Chars)
	s.Chars = slices.Compact(s.Chars)
	s.Chars = slices.DeleteFunc(s.Chars, func(r rune) bool { return r >= 0xFFFF || r < 0 })

	kept := []uint16{0} // by their new numbers
	number := func(glyph uint16) (uint16, error) {
		if int(glyph) >= f.glyphs {
			return 0, fmt.Errorf("font: there is no glyph %d", glyph)
		}
		if i := slices.Index(kept, glyph); i >= 0 {
			return uint16(i), nil
		}
		kept = append(kept, glyph)
		return uint16(len(kept) - 1), nil
	}
	for _, r := range s.Chars {
		glyph, _ := f.Glyph(r)
		var err error
		if s.Glyph[r], err = number(glyph); err != nil {
			return s, err
		}
	}
	var glyf, loca, hmtx []byte
	for i := 0; i < len(kept); i++ { // compound glyphs make it longer
		outline, err := plain(f.outline(kept[i]), number)
		if err != nil {
			return s, err
		}
		loca = binary.BigEndian.AppendUint32(loca, uint32(len(glyf)))
		glyf = append(glyf, outline...)
		for len(glyf)%4 != 0 {
			glyf = append(glyf, 0)
		}
		advance := f.advances[kept[i]]
		hmtx = append(hmtx, words(advance, f.bearing(kept[i]))...)
		s.Widths = append(s.Widths, float64(advance)/float64(f.units))
	}
	loca = binary.BigEndian.AppendUint32(loca, uint32(len(glyf)))
	s.Data = assemble(map[string][]byte{
		"glyf": glyf, "loca": loca, "hmtx": hmtx, "cmap": makeMap(s.Chars, s.Glyph), "name": nameTable(name),
		"head": f.head(), "hhea": patched(f.tables["hhea"][:36], 34, uint16(len(kept))), "maxp": f.maxp(len(kept)),
		"OS/2": f.os2(s.Chars), "post": f.post(),
	})
	return s, nil
}

// patched is a copy of a table with another number at a place.
func patched(table []byte, at int, value uint16) []byte {
	out := slices.Clone(table)
	binary.BigEndian.PutUint16(out[at:], value)
	return out
}

// head says that loca has four bytes an entry, and has no checksum yet.
func (f *Face) head() []byte {
	out := patched(f.tables["head"][:54], 50, 1)
	binary.BigEndian.PutUint32(out[8:], 0)
	return out
}

// maxp counts the glyphs, and says that no instructions are left.
func (f *Face) maxp(glyphs int) []byte {
	out := patched(f.tables["maxp"][:32], 4, uint16(glyphs))
	for at := 14; at <= 26; at += 2 {
		value := uint16(0)
		if at == 14 {
			value = 1 // zones
		}
		binary.BigEndian.PutUint16(out[at:], value)
	}
	return out
}

// os2 says which characters are the first and the last.
func (f *Face) os2(chars []rune) []byte {
	if len(chars) == 0 {
		return f.tables["OS/2"]
	}
	out := patched(f.tables["OS/2"], 64, uint16(chars[0]))
	return patched(out, 66, uint16(chars[len(chars)-1]))
}

// post names no glyphs.
func (f *Face) post() []byte {
	out := slices.Clone(f.tables["post"][:32])
	binary.BigEndian.PutUint32(out, 0x00030000)
	return out
}

// nameTable gives the font the names that a file must have.
func nameTable(name string) []byte {
	text := words(utf16.Encode([]rune(name))...)
	ids := []uint16{1, 2, 4, 6} // family, style, full and PostScript name
	out := words(0, uint16(len(ids)), uint16(6+12*len(ids)))
	for _, id := range ids {
		out = append(out, words(3, 1, 0x409, id, uint16(len(text)), 0)...)
	}
	return append(out, text...)
}

// assemble writes a font file, its tables in the order of their names.
func assemble(tables map[string][]byte) []byte {
	tags := make([]string, 0, len(tables))
	for tag := range tables {
		tags = append(tags, tag)
	}
	slices.Sort(tags)
	log := int(math.Log2(float64(len(tags))))
	power := uint16(16 << log)
	out := append([]byte{0, 1, 0, 0}, words(uint16(len(tags)), power, uint16(log), uint16(16*len(tags))-power)...)
	at, head := len(out)+16*len(tags), 0
	var body []byte
	for _, tag := range tags {
		if tag == "head" {
			head = at + len(body)
		}
		table := tables[tag]
		out = append(out, tag...)
		out = binary.BigEndian.AppendUint32(out, checksum(table))
		out = binary.BigEndian.AppendUint32(out, uint32(at+len(body)))
		out = binary.BigEndian.AppendUint32(out, uint32(len(table)))
		body = append(body, table...)
		for len(body)%4 != 0 {
			body = append(body, 0)
		}
	}
	out = append(out, body...)
	binary.BigEndian.PutUint32(out[head+8:], 0xB1B0AFBA-checksum(out))
	return out
}

// checksum is the sum of a table's four-byte numbers.
func checksum(table []byte) uint32 {
	var sum uint32
	for i := 0; i < len(table); i += 4 {
		var word [4]byte
		copy(word[:], table[i:])
		sum += binary.BigEndian.Uint32(word[:])
	}
	return sum
}
