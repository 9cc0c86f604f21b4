package figure

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"
)

// Series is something that a panel plots.
type Series interface {
	check() error
	extent() (xs, ys []float64) // of what has to be seen
	draw(c canvas)
}

// Point is a place in a panel, and the text that a page shows for it under the pointer.
type Point struct {
	X, Y  float64
	Title string
}

// named is a series that a legend lists, or that has its name next to it.
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

// Swarm is points about one x, moved aside as far as it takes for none to cover
// another, but no further than Half. Where there are too many for that, some do.
type Swarm struct {
	Name  string
	Style Style
	X     float64
	Half  float64 // in values of x
	At    []Point // X of each is not read
}

func (s Swarm) key() (string, Style, bool) { return s.Name, s.Style, false }
func (s Swarm) check() error {
	if !(s.Half >= 0) {
		return fmt.Errorf("a swarm %v wide", s.Half)
	}
	return nil
}
func (s Swarm) extent() (xs, ys []float64) {
	if len(s.At) == 0 {
		return nil, nil
	}
	_, ys = split(s.At)
	return []float64{s.X - s.Half, s.X + s.Half}, ys
}
func (s Swarm) draw(c canvas) {
	ys := make([]float64, len(s.At))
	for i, p := range s.At {
		ys[i] = c.y(p.Y)
	}
	half := c.x(s.X+s.Half) - c.x(s.X)
	for i, aside := range swarm(ys, 2*s.Style.size(), half) {
		c.marker(s.Style, c.x(s.X)+aside, ys[i], s.At[i].Title)
	}
}

// swarm is how far aside each of some discs goes, given their heights and their
// diameter. They are placed from the lowest up, each as near the middle as those
// before it allow, to the right and to the left by turns.
func swarm(ys []float64, diameter, half float64) []float64 {
	order := make([]int, len(ys))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ys[a], ys[b]) })
	aside := make([]float64, len(ys))
	first := 0 // of those placed that a disc may touch
	for k, i := range order {
		for ys[i]-ys[order[first]] >= diameter {
			first++
		}
		near := order[first:k]
		side := float64(1 - 2*(k%2))
		aside[i] = roomiest(near, aside, ys, i, diameter, half, side)
	}
	return aside
}

// roomiest is the place of disc i nearest the middle that touches none of those
// near it; where there is none, the place that is furthest from them all.
func roomiest(near []int, aside, ys []float64, i int, diameter, half, side float64) float64 {
	places := []float64{0}
	for _, j := range near {
		dy := ys[i] - ys[j]
		dx := math.Sqrt(max(0, float64(diameter*diameter)-float64(dy*dy)))
		for _, x := range []float64{aside[j] + side*dx, aside[j] - side*dx} {
			if math.Abs(x) <= half+1e-6 {
				places = append(places, x)
			}
		}
	}
	slices.SortStableFunc(places, func(a, b float64) int { return cmp.Compare(rounded(math.Abs(a)), rounded(math.Abs(b))) })
	best, most := 0.0, math.Inf(-1)
	tried := [2]float64{math.NaN(), math.NaN()} // many points of one height leave the same places
	for _, x := range append(places, side*half, -side*half) {
		if rounded(x) == rounded(tried[0]) || rounded(x) == rounded(tried[1]) {
			continue
		}
		tried = [2]float64{tried[1], x}
		room := math.Inf(1)
		for k := len(near) - 1; k >= 0 && room > most+1e-6; k-- {
			dx, dy := x-aside[near[k]], ys[i]-ys[near[k]]
			room = min(room, math.Sqrt(float64(dx*dx)+float64(dy*dy)))
		}
		if room >= diameter-1e-6 {
			return x
		}
		if room > most+1e-6 {
			best, most = x, room
		}
	}
	return best
}
