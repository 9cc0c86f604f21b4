package figure

import "image/color"

// Ink is a colour of Okabe and Ito, which all people can tell apart; in grey
// those used together differ in lightness too.
type Ink int

// Inks.
const (
	Black Ink = iota
	Grey
	Blue
	Vermilion
	SkyBlue
	Green
	White
)

var inks = [...]color.RGBA{
	Black: {0, 0, 0, 255}, Grey: {110, 110, 110, 255}, Blue: {0, 114, 178, 255}, Vermilion: {213, 94, 0, 255},
	SkyBlue: {86, 180, 233, 255}, Green: {0, 158, 115, 255}, White: {255, 255, 255, 255},
}

func (i Ink) color() color.RGBA {
	if i < 0 || int(i) >= len(inks) {
		return inks[Black]
	}
	return inks[i]
}

// Dash is how a line is broken.
type Dash int

// Dashes.
const (
	Solid Dash = iota
	Dashed
	Dotted
)

var dashes = [...][]float64{Solid: nil, Dashed: {4, 2}, Dotted: {1, 1.6}}

func (d Dash) pattern() []float64 {
	if d < 0 || int(d) >= len(dashes) {
		return nil
	}
	return dashes[d]
}

// Marker is the shape of a point.
type Marker int

// Markers.
const (
	None Marker = iota
	Circle
	Square
	Triangle
	Diamond
)

// Style is how a series looks.
type Style struct {
	Ink    Ink
	Dash   Dash
	Marker Marker
	Size   float64 // half the width of a marker, in points; 1.8 where it is 0
	Width  float64 // of a line, in points; 1 where it is 0
	Hollow bool    // markers are white inside
}

func (s Style) size() float64 {
	if s.Size == 0 {
		return 1.8
	}
	return s.Size
}

func (s Style) width() float64 {
	if s.Width == 0 {
		return 1
	}
	return s.Width
}
