package typeface

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/plot/font/liberation"
)

// sans is Liberation Sans, upright.
func sans(t testing.TB) []byte {
	t.Helper()
	for _, f := range liberation.Collection() {
		if f.Name() == "LiberationSans-Regular" {
			var raw bytes.Buffer
			if _, err := f.Face.WriteSourceTo(nil, &raw); err != nil {
				t.Fatal(err)
			}
			return raw.Bytes()
		}
	}
	t.Fatal("no Liberation Sans")
	return nil
}

func parsed(t testing.TB, data []byte) *Face {
	t.Helper()
	f, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestWidthsAreTheFonts(t *testing.T) {
	f := parsed(t, sans(t))
	// Liberation Sans is as wide as Helvetica, whose widths are known.
	for text, mils := range map[string]float64{"": 0, "0": 556, "i": 222, "W": 944, "b = 8": 556 + 278 + 584 + 278 + 556, "é": 556} {
		if got := 1000 * f.Width(text); math.Abs(got-mils) > 0.5 {
			t.Errorf("%q is %.1f wide, want %v", text, got, mils)
		}
	}
	if m := f.Metrics(); m.Ascent < 0.8 || m.Descent > -0.1 || m.CapHeight < 0.6 || m.Left >= 0 || m.Top <= 0 || m.Italic != 0 {
		t.Errorf("metrics %+v", m)
	}
}

const printed = "Variance of HBN, b = 8 ± 0.1% × é−Å"

func TestASubsetPrintsTheSame(t *testing.T) {
	whole := parsed(t, sans(t))
	s, err := whole.Subset("Part", []rune(printed))
	if err != nil {
		t.Fatal(err)
	}
	part := parsed(t, s.Data)
	if len(s.Data) > 8000 || checksum(s.Data) != 0xB1B0AFBA {
		t.Errorf("%d bytes with checksum %x", len(s.Data), checksum(s.Data))
	}
	if part.Width(printed) != whole.Width(printed) {
		t.Errorf("width %v, want %v", part.Width(printed), whole.Width(printed))
	}
	for _, r := range printed {
		old, _ := whole.Glyph(r)
		new, ok := part.Glyph(r)
		if !ok || new != s.Glyph[r] || s.Widths[new] != whole.Width(string(r)) {
			t.Errorf("%c is glyph %d, %v; listed as %d, %v wide", r, new, ok, s.Glyph[r], s.Widths[new])
		}
		if part.bearing(new) != whole.bearing(old) || !slices.Equal(drawn(t, part, new), drawn(t, whole, old)) {
			t.Errorf("%c looks different", r)
		}
	}
	if _, ok := part.Glyph('Q'); ok {
		t.Error("the subset prints what it was not asked to")
	}
}

// drawn is the outlines of a glyph and of its parts, without their numbers.
func drawn(t *testing.T, f *Face, glyph uint16) []byte {
	t.Helper()
	var parts []byte
	own, err := plain(f.outline(glyph), func(part uint16) (uint16, error) {
		parts = append(parts, drawn(t, f, part)...)
		return 0, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return append(bytes.TrimRight(own, "\x00"), parts...)
}

// TestInstructionsAreLeftOut has two glyphs as a font stores them: a plain one of
// a contour and one of two parts, each with instructions.
func TestInstructionsAreLeftOut(t *testing.T) {
	again := func(part uint16) (uint16, error) { return part + 100, nil }
	box := []byte{0, 1, 0, 1, 0, 2, 0, 3, 0, 4}
	one := slices.Concat(box, words(9, 3), []byte{7, 7, 7}, []byte{1, 2})
	if got, err := plain(one, again); err != nil || !bytes.Equal(got, slices.Concat(box, words(9, 0), []byte{1, 2})) {
		t.Errorf("a plain glyph: % x, %v", got, err)
	}
	box = words(0xFFFF, 1, 2, 3, 4)
	two := slices.Concat(box, words(moreParts|wideArguments, 5, 8, 9), words(scaled|hasInstructions, 6, 0x0102, 0x4000), words(2), []byte{7, 7})
	want := slices.Concat(box, words(moreParts|wideArguments, 105, 8, 9), words(scaled, 106, 0x0102, 0x4000))
	if got, err := plain(two, again); err != nil || !bytes.Equal(got, want) {
		t.Errorf("a glyph of parts: % x, want % x, %v", got, want, err)
	}
}

func TestASubsetHasTheSameBytesWhateverTheOrder(t *testing.T) {
	f := parsed(t, sans(t))
	chars := []rune(printed)
	one, err := f.Subset("Part", chars)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(chars)
	other, err := f.Subset("Part", append(chars, chars...))
	if err != nil || !bytes.Equal(one.Data, other.Data) {
		t.Errorf("other bytes, %v", err)
	}
}

func TestAMissingCharacterIsABox(t *testing.T) {
	f := parsed(t, sans(t))
	s, err := f.Subset("Part", []rune("a中\U0001F600"))
	if err != nil || s.Glyph['中'] != 0 || s.Glyph['a'] == 0 {
		t.Errorf("glyphs %v, %v", s.Glyph, err)
	}
	if f.Width("中") <= 0 {
		t.Error("no room for what is missing")
	}
}

// FuzzParse damages a small font: nothing may panic.
func FuzzParse(f *testing.F) {
	whole, err := Parse(sans(f))
	if err != nil {
		f.Fatal(err)
	}
	small, err := whole.Subset("Part", []rune("aé"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(small.Data, uint16(0), byte(0))
	for at := 0; at < len(small.Data); at += 7 {
		f.Add(small.Data, uint16(at), byte(0xFF))
	}
	f.Fuzz(func(t *testing.T, data []byte, at uint16, value byte) {
		data = slices.Clone(data)
		if int(at) < len(data) {
			data[at] = value
		}
		face, err := Parse(data)
		if err != nil {
			return
		}
		face.Width("aé中")
		if s, err := face.Subset("Part", []rune("aé中")); err == nil && len(s.Data) == 0 {
			t.Error("a subset of nothing")
		}
	})
}
