// Package figure is the model of a printed figure and its forms: PDF for papers,
// SVG for the web, SVG inside a page, and the plotted points as CSV. Like a table
// it holds values; how they look is decided here, once, for all figures: at
// printed size, in colours that the colour-blind can tell apart, and never by
// colour alone. The same figure has the same bytes every time, by the same build.
package figure

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"

	"speceval/internal/table"
)

// Figure is a grid of panels.
type Figure struct {
	Base    string // file name in figures/, without extension
	Title   string // what is seen, in one plain sentence
	Caption string
	Label   string // LaTeX label, "fig:pairs"

	Width, Height float64   // at printed size, in points of 1/72 inch
	Panels        [][]Panel // by rows, from the top; as many columns in each

	Data table.Table // what is plotted, at full precision
}

// Panel is a plot with its axes.
type Panel struct {
	Title  string
	X, Y   Axis
	Series []Series // from back to front

	Legend Corner // where the named series are listed
	Notes  []Note

	// Instead is said in place of a plot that cannot be made.
	Instead string
}

// Corner is where in a panel its legend stands.
type Corner int

// Corners.
const (
	Nowhere Corner = iota
	Above          // in one row, above the plot
	TopLeft
)

// Axis is one of a panel's axes. It shows everything that the series have, and
// a little more.
type Axis struct {
	Label string
	Log   bool      // equal ratios are equally far apart; values are above zero
	Cover []float64 // to be shown as well
	Zero  bool      // it begins at zero
	Tight bool      // it ends where the data end
	Ticks []Tick    // chosen where there are none
	Blank bool      // neither ticks nor a line
}

// Tick is a labelled place on an axis.
type Tick struct {
	At    float64
	Label string
}

// Note is text at a place of a panel, in the coordinates of its axes.
type Note struct {
	X, Y  float64
	Text  string
	Align Align
	Ink   Ink

	// Right and Up move it from there, in points.
	Right, Up float64
}

// Align says which part of a note is at its place.
type Align int

// Alignments.
const (
	Middle Align = iota
	Start
	End
)

// Italic is text as a mathematical symbol, within a label.
func Italic(symbol string) string { return string(italicFrom) + symbol + string(italicTo) }

// Validate says what about a figure cannot be drawn: no panels, rows of unequal
// length, a size or a value that is no finite number, or none where the axis is
// logarithmic.
func (f Figure) Validate() error {
	if len(f.Panels) == 0 || len(f.Panels[0]) == 0 {
		return fmt.Errorf("figure %s: no panels", f.Base)
	}
	if !(f.Width > 0 && f.Height > 0 && f.Width < 5000 && f.Height < 5000) {
		return fmt.Errorf("figure %s: %v × %v points is no size", f.Base, f.Width, f.Height)
	}
	for _, row := range f.Panels {
		if len(row) != len(f.Panels[0]) {
			return fmt.Errorf("figure %s: rows of %d and %d panels", f.Base, len(f.Panels[0]), len(row))
		}
		for _, p := range row {
			if err := p.validate(); err != nil {
				return fmt.Errorf("figure %s: panel %q: %w", f.Base, plainText(p.Title), err)
			}
		}
	}
	return f.Data.Validate()
}

func (p Panel) validate() error {
	if p.Instead != "" {
		return nil
	}
	seen := 0
	for _, s := range p.Series {
		if err := s.check(); err != nil {
			return err
		}
		xs, ys := s.extent()
		seen += len(xs)
		if err := errors.Join(p.X.holds(xs, "x"), p.Y.holds(ys, "y")); err != nil {
			return err
		}
	}
	if seen == 0 {
		return errors.New("nothing to plot")
	}
	for _, n := range p.Notes {
		if err := errors.Join(p.X.holds([]float64{n.X}, "x"), p.Y.holds([]float64{n.Y}, "y")); err != nil {
			return fmt.Errorf("note %q: %w", plainText(n.Text), err)
		}
	}
	return errors.Join(p.X.holds(p.X.Cover, "x"), p.Y.holds(p.Y.Cover, "y"))
}

// holds checks that an axis can show all values.
func (a Axis) holds(values []float64, name string) error {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%s = %v is not a finite number", name, v)
		}
		if a.Log && v <= 0 {
			return fmt.Errorf("%s = %v has no place on a logarithmic axis", name, v)
		}
	}
	return nil
}

// CSV writes the plotted values, at full precision.
func CSV(w io.Writer, f Figure) error {
	if err := f.Validate(); err != nil {
		return err
	}
	return table.CSV(w, f.Data)
}

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
