// Package typeface reads TrueType fonts: how wide text is, and the smallest font
// that still prints the characters a document has. It knows the tables of a font
// file and nothing of what is drawn with them.
package typeface

import (
	"encoding/binary"
	"fmt"
)

// Face is a TrueType font. It is read-only.
type Face struct {
	tables   map[string][]byte
	glyphs   int
	units    int // of an em
	advances []uint16
	places   []uint32 // where each glyph is in the table glyf, and one more for the end
	segments []segment
}

// Metrics are the sizes of a face in ems, depths below the baseline negative.
type Metrics struct {
	Ascent, Descent          float64
	CapHeight                float64
	Left, Bottom, Right, Top float64 // the box that holds every glyph
	Italic                   float64 // degrees, negative where it leans to the right
}

// Parse reads a font file. What it lacks or says wrongly is an error.
func Parse(data []byte) (*Face, error) {
	f := &Face{tables: map[string][]byte{}}
	if len(data) < 12 {
		return nil, fmt.Errorf("font: %d bytes are too few", len(data))
	}
	for i := range int(binary.BigEndian.Uint16(data[4:])) {
		entry, err := slice(data, 12+16*i, 16)
		if err != nil {
			return nil, err
		}
		table, err := slice(data, int(binary.BigEndian.Uint32(entry[8:])), int(binary.BigEndian.Uint32(entry[12:])))
		if err != nil {
			return nil, err
		}
		f.tables[string(entry[:4])] = table
	}
	for tag, least := range map[string]int{"head": 54, "hhea": 36, "maxp": 32, "hmtx": 4, "loca": 4, "glyf": 0, "cmap": 4, "OS/2": 90, "post": 32} {
		if len(f.tables[tag]) < least || f.tables[tag] == nil {
			return nil, fmt.Errorf("font: table %s is missing or too short", tag)
		}
	}
	f.glyphs = int(binary.BigEndian.Uint16(f.tables["maxp"][4:]))
	if f.units = int(binary.BigEndian.Uint16(f.tables["head"][18:])); f.units == 0 {
		return nil, fmt.Errorf("font: an em of no units")
	}
	for _, read := range []func() error{f.readAdvances, f.readPlaces, f.readSegments} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// slice is part of a file, or an error where the file ends before it does.
func slice(data []byte, from, length int) ([]byte, error) {
	if from < 0 || length < 0 || from > len(data)-length {
		return nil, fmt.Errorf("font: %d bytes at %d lie outside the %d that there are", length, from, len(data))
	}
	return data[from : from+length : from+length], nil
}

func (f *Face) readAdvances() error {
	own := int(binary.BigEndian.Uint16(f.tables["hhea"][34:])) // the rest have the last one's
	hmtx := f.tables["hmtx"]
	if own < 1 || own > f.glyphs || len(hmtx) < 4*own+2*(f.glyphs-own) {
		return fmt.Errorf("font: %d advances for %d glyphs do not fit", own, f.glyphs)
	}
	f.advances = make([]uint16, f.glyphs)
	for g := range f.glyphs {
		f.advances[g] = binary.BigEndian.Uint16(hmtx[4*min(g, own-1):])
	}
	return nil
}

// bearing is where the outline of a glyph begins.
func (f *Face) bearing(glyph uint16) uint16 {
	own := int(binary.BigEndian.Uint16(f.tables["hhea"][34:]))
	if g := int(glyph); g >= own {
		return binary.BigEndian.Uint16(f.tables["hmtx"][4*own+2*(g-own):])
	}
	return binary.BigEndian.Uint16(f.tables["hmtx"][4*int(glyph)+2:])
}

func (f *Face) readPlaces() error {
	loca, long := f.tables["loca"], binary.BigEndian.Uint16(f.tables["head"][50:]) == 1
	f.places = make([]uint32, f.glyphs+1)
	for i := range f.places {
		switch {
		case long && len(loca) >= 4*i+4:
			f.places[i] = binary.BigEndian.Uint32(loca[4*i:])
		case !long && len(loca) >= 2*i+2:
			f.places[i] = 2 * uint32(binary.BigEndian.Uint16(loca[2*i:]))
		default:
			return fmt.Errorf("font: table loca is too short for %d glyphs", f.glyphs)
		}
		if int(f.places[i]) > len(f.tables["glyf"]) || i > 0 && f.places[i] < f.places[i-1] {
			return fmt.Errorf("font: glyph %d lies outside the table of glyphs", i)
		}
	}
	return nil
}

// Metrics are the sizes of the face.
func (f *Face) Metrics() Metrics {
	em := func(table string, at int) float64 {
		return float64(int16(binary.BigEndian.Uint16(f.tables[table][at:]))) / float64(f.units)
	}
	return Metrics{
		Ascent: em("hhea", 4), Descent: em("hhea", 6), CapHeight: em("OS/2", 88),
		Left: em("head", 36), Bottom: em("head", 38), Right: em("head", 40), Top: em("head", 42),
		Italic: float64(int32(binary.BigEndian.Uint32(f.tables["post"][4:]))) / 65536,
	}
}

// Glyph is the glyph that prints a character; ok is false where the font has none.
func (f *Face) Glyph(r rune) (glyph uint16, ok bool) {
	for _, s := range f.segments {
		if r >= s.first && r <= s.last {
			glyph = s.glyph(r)
			return glyph, glyph != 0 && int(glyph) < f.glyphs
		}
	}
	return 0, false
}

// Width is how wide a line of text is, in ems. A character that the font lacks
// is as wide as the box that stands for it.
func (f *Face) Width(text string) float64 {
	var units int
	for _, r := range text {
		g, _ := f.Glyph(r)
		if int(g) >= f.glyphs {
			g = 0
		}
		units += int(f.advances[g])
	}
	return float64(units) / float64(f.units)
}
