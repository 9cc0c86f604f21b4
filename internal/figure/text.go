package figure

import (
	"math"
	"slices"
	"strings"
	"sync"

	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// Characters that begin and end italics within a label. They are control
// characters, so that no name of a benchmark or a model has them.
const (
	italicFrom = '\x0e'
	italicTo   = '\x0f'
)

// Upright and italic: the faces of all text.
const (
	upright = iota
	italic
	faceCount
)

// The font is Liberation Sans, as wide as Arial and Helvetica.
const fontName = "LiberationSans"

var faceNames = [faceCount]string{fontName + "-Regular", fontName + "-Italic"}

// face is a TrueType font and its file.
type face struct {
	*sfnt.Font
	file string
}

// faces is the font in both faces.
var faces = sync.OnceValues(func() (out [faceCount]face, err error) {
	for _, f := range liberation.Collection() {
		i := slices.Index(faceNames[:], f.Name())
		if i < 0 {
			continue
		}
		var file strings.Builder
		if _, err := f.Face.WriteSourceTo(nil, &file); err != nil {
			return out, err
		}
		out[i] = face{f.Face, file.String()}
	}
	return out, nil
})

// width is the width of a line of text, in ems. A character that the font lacks
// is as wide as the box that stands for it.
func (f face) width(text string) float64 {
	em := int(f.UnitsPerEm())
	var units fixed.Int26_6
	for _, r := range text {
		glyph, _ := f.GlyphIndex(nil, r) // 0, the box, on an error too
		advance, _ := f.GlyphAdvance(nil, glyph, fixed.I(em), 0)
		units += advance
	}
	return float64(units.Round()) / float64(em)
}

// Proportions of a line of text, in ems.
const (
	ascent  = 0.74
	descent = 0.21
	capital = 0.69 // height of capitals and digits
	leading = 1.15
)

// run is a piece of text in one face.
type run struct {
	face  int
	text  string
	width float64 // in ems
}

// runs divides a line into pieces of one face.
func runs(line string) []run {
	var out []run
	face, from := upright, 0
	loaded, err := faces()
	add := func(to int) {
		if to > from {
			r := run{face: face, text: line[from:to]}
			if err == nil {
				r.width = loaded[face].width(r.text)
			}
			out = append(out, r)
		}
		from = to + 1
	}
	for i, r := range line {
		switch r {
		case italicFrom:
			add(i)
			face = italic
		case italicTo:
			add(i)
			face = upright
		}
	}
	add(len(line))
	return out
}

// lineWidth is how wide a line is at a size, in points.
func lineWidth(line string, size float64) float64 {
	var ems float64
	for _, r := range runs(line) {
		ems += r.width
	}
	return float64(ems * size)
}

// plainText is a label without what makes symbols italic.
func plainText(label string) string {
	return strings.Map(func(r rune) rune {
		if r == italicFrom || r == italicTo {
			return -1
		}
		return r
	}, label)
}

// wrapped breaks a text into lines no wider than width points.
func wrapped(s string, size, width float64) string {
	var b strings.Builder
	line := ""
	for _, word := range strings.Fields(s) {
		switch longer := line + " " + word; {
		case line == "":
			line = word
		case lineWidth(longer, size) <= width:
			line = longer
		default:
			b.WriteString(line + "\n")
			line = word
		}
	}
	return b.String() + line
}

// labels sets text for gonum/plot.
type labels struct{}

var _ text.Handler = labels{}

// Cache is the fonts that text is not set from: only faces are.
func (labels) Cache() *font.Cache { return font.DefaultCache }

// Extents is one height for the whole line: axes then leave room for it, and
// do not move it.
func (labels) Extents(f font.Font) font.Extents {
	height := f.Size * (ascent + descent)
	return font.Extents{Ascent: height, Height: height}
}

// Lines are those of a text.
func (labels) Lines(txt string) []string { return strings.Split(txt, "\n") }

// Box is the room that a line takes.
func (labels) Box(txt string, f font.Font) (width, height, depth vg.Length) {
	return vg.Length(lineWidth(txt, f.Size.Points())), f.Size * ascent, f.Size * descent
}

// Draw sets text. Lines centred on a point are centred by their capitals.
func (h labels) Draw(c vg.Canvas, txt string, sty text.Style, pt vg.Point) {
	c.Push()
	defer c.Pop()
	c.SetColor(sty.Color)
	c.Translate(pt)
	c.Rotate(sty.Rotation)
	size := sty.Font.Size.Points()
	lines := h.Lines(txt)
	extra := float64(len(lines)-1) * leading
	y := float64((ascent + descent + extra) * float64(sty.YAlign)) // of the lower edge, in ems
	y += descent + extra
	if sty.YAlign == text.YCenter {
		y = (extra - capital) / 2
	}
	for i, line := range lines {
		x := lineWidth(line, size) * float64(sty.XAlign)
		for _, r := range runs(line) {
			f := font.Face{Font: sty.Font}
			f.Font.Variant = font.Variant(faceNames[r.face])
			word := strings.TrimLeft(r.text, " ") // space at the ends is not text to SVG
			at := vg.Point{X: vg.Length(x + lineWidth(r.text[:len(r.text)-len(word)], size)), Y: vg.Length((y - float64(i)*leading) * size)}
			if word = strings.TrimRight(word, " "); word != "" {
				c.FillString(f, at, word)
			}
			x += r.width * size
		}
	}
}

// labelStyle is text of a size.
func labelStyle(size float64, ink Ink, x text.XAlignment, y text.YAlignment) text.Style {
	return text.Style{
		Color: ink.color(), Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Length(size)},
		XAlign: x, YAlign: y, Handler: labels{},
	}
}

// rounded is v as it is written: to hundredths of a point. What a machine's way
// of multiplying and adding changes is a billion times less, and would show only
// where v is just between two hundredths; the shift puts that between numbers
// which no figure has.
func rounded(v float64) float64 {
	r := math.Floor(v*100+0.500123) / 100
	if r == 0 {
		return 0 // and not −0
	}
	return r
}
