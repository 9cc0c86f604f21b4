package figure

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"
)

// Series is something that a panel plots.
type Series interface {
	check() error
	extent() (xs, ys []float64) // of what has to be seen
	draw(c canvas)
}

// Point is a place in a panel, and what a reader is told who points at it.
type Point struct {
	X, Y  float64
	Title string
}

// named is a series that a legend lists, or that has its name beside it.
type named interface {
	key() (name string, style Style, line bool)
}

// canvas is where a series is drawn.
type canvas struct {
	*sheet
	draw.Canvas
	x, y func(float64) float64 // from values to points on the sheet
}

func newCanvas(s *sheet, c draw.Canvas, p *plot.Plot) canvas {
	x, y := p.Transforms(&c)
	return canvas{
		sheet: s, Canvas: c,
		x: func(v float64) float64 { return x(v).Points() },
		y: func(v float64) float64 { return y(v).Points() },
	}
}

// edges are the ends of the area of data.
func (c canvas) edges() (left, right, bottom, top float64) {
	return c.Min.X.Points(), c.Max.X.Points(), c.Min.Y.Points(), c.Max.Y.Points()
}

func split(points []Point) (xs, ys []float64) {
	for _, p := range points {
		xs, ys = append(xs, p.X), append(ys, p.Y)
	}
	return xs, ys
}

// Points are markers alone.
type Points struct {
	Name  string
	Style Style
	At    []Point
}

func (s Points) check() error               { return nil }
func (s Points) extent() (xs, ys []float64) { return split(s.At) }
func (s Points) key() (string, Style, bool) { return s.Name, s.Style, false }
func (s Points) draw(c canvas) {
	for _, p := range s.At {
		c.marker(s.Style, c.x(p.X), c.y(p.Y), p.Title)
	}
}

// Line joins points in their order. Its label stands at the right, beyond its
// last point.
type Line struct {
	Name  string
	Label string
	Style Style
	At    []Point
}

func (s Line) check() error               { return nil }
func (s Line) extent() (xs, ys []float64) { return split(s.At) }
func (s Line) key() (string, Style, bool) { return s.Name, s.Style, true }
func (s Line) draw(c canvas) {
	xs, ys := make([]float64, len(s.At)), make([]float64, len(s.At))
	for i, p := range s.At {
		xs[i], ys[i] = c.x(p.X), c.y(p.Y)
	}
	c.line(s.Style, xs, ys)
	for i, p := range s.At {
		c.marker(s.Style, xs[i], ys[i], p.Title)
	}
}

// Level is a line across the panel at one value.
type Level struct {
	Name    string
	Style   Style
	At      float64
	Upright bool // at an x rather than a y
	Title   string
}

func (s Level) check() error               { return nil }
func (s Level) key() (string, Style, bool) { return s.Name, s.Style, true }
func (s Level) extent() (xs, ys []float64) {
	if s.Upright {
		return []float64{s.At}, nil
	}
	return nil, []float64{s.At}
}
func (s Level) draw(c canvas) {
	left, right, bottom, top := c.edges()
	if s.Upright {
		c.line(s.Style, []float64{c.x(s.At), c.x(s.At)}, []float64{bottom, top})
		return
	}
	c.line(s.Style, []float64{left, right}, []float64{c.y(s.At), c.y(s.At)})
}

// Box is the middle half of some values about x = At: from the first to the
// third quartile, with the median across and the mean as a diamond.
type Box struct {
	At, Half          float64 // place and half the width, in values of x
	Low, Median, High float64 // quartiles
	Mean              float64
	Title, MeanTitle  string
}

func (s Box) check() error {
	if !(s.Low <= s.Median && s.Median <= s.High) {
		return fmt.Errorf("quartiles %v, %v and %v do not rise", s.Low, s.Median, s.High)
	}
	return nil
}
func (s Box) extent() (xs, ys []float64) {
	return []float64{s.At - s.Half, s.At + s.Half}, []float64{s.Low, s.High, s.Mean}
}
func (s Box) draw(c canvas) {
	left, right := c.x(s.At-s.Half), c.x(s.At+s.Half)
	low, high, median := c.y(s.Low), c.y(s.High), c.y(s.Median)
	c.frame(Style{Width: 0.7}, left, right, low, high)
	c.line(Style{Width: 1.5}, []float64{left, right}, []float64{median, median})
	c.ghost(s.Title, left, right, low, high)
	c.marker(meanStyle, c.x(s.At), c.y(s.Mean), s.MeanTitle)
}

// meanStyle is the diamond of a mean.
var meanStyle = Style{Ink: Black, Marker: Diamond, Size: 3, Hollow: true}

// span is the least and the greatest of some values.
func span(values []float64) (least, most float64) {
	least, most = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		least, most = min(least, v), max(most, v)
	}
	return least, most
}
