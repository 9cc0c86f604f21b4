package typeface

import (
	"encoding/binary"
	"fmt"
)

// Flags of the parts of a compound glyph.
const (
	wideArguments   = 1 << 0
	scaled          = 1 << 3
	moreParts       = 1 << 5
	scaledTwice     = 1 << 6
	scaledByMatrix  = 1 << 7
	hasInstructions = 1 << 8
)

// outline is the stored form of a glyph, empty for one that prints nothing.
func (f *Face) outline(glyph uint16) []byte {
	return f.tables["glyf"][f.places[glyph]:f.places[glyph+1]]
}

// plain is an outline without the instructions that fit it to a grid of pixels:
// they make most of a font file, and printers and screens of today ignore them.
// Each glyph that it is made of goes through number, which names it anew.
func plain(outline []byte, number func(glyph uint16) (uint16, error)) ([]byte, error) {
	if len(outline) == 0 {
		return nil, nil
	}
	if len(outline) < 10 {
		return nil, fmt.Errorf("font: an outline of %d bytes", len(outline))
	}
	contours := int(int16(binary.BigEndian.Uint16(outline)))
	if contours < 0 {
		return plainCompound(outline, number)
	}
	at := 10 + 2*contours
	if len(outline) < at+2 {
		return nil, fmt.Errorf("font: an outline of %d contours in %d bytes", contours, len(outline))
	}
	after := at + 2 + int(binary.BigEndian.Uint16(outline[at:]))
	if len(outline) < after {
		return nil, fmt.Errorf("font: instructions beyond the end of an outline")
	}
	out := append(outline[:at:at], 0, 0)
	return append(out, outline[after:]...), nil
}

func plainCompound(outline []byte, number func(uint16) (uint16, error)) ([]byte, error) {
	out := outline[:10:10]
	for at, more := 10, true; more; {
		if len(outline) < at+4 {
			return nil, fmt.Errorf("font: a compound glyph without an end")
		}
		flags := binary.BigEndian.Uint16(outline[at:])
		size := 6
		if flags&wideArguments != 0 {
			size = 8
		}
		switch {
		case flags&scaled != 0:
			size += 2
		case flags&scaledTwice != 0:
			size += 4
		case flags&scaledByMatrix != 0:
			size += 8
		}
		if len(outline) < at+size {
			return nil, fmt.Errorf("font: a compound glyph without an end")
		}
		glyph, err := number(binary.BigEndian.Uint16(outline[at+2:]))
		if err != nil {
			return nil, err
		}
		out = append(out, words(flags&^hasInstructions, glyph)...)
		out = append(out, outline[at+4:at+size]...)
		at, more = at+size, flags&moreParts != 0
	}
	return out, nil
}
