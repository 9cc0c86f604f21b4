package figure

import (
	"cmp"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Colours of Okabe and Ito, which all people can tell apart; in grey those used
// together differ in lightness too.
var (
	Black     = color.RGBA{0, 0, 0, 255}
	Grey      = color.RGBA{110, 110, 110, 255}
	Blue      = color.RGBA{0, 114, 178, 255}
	Vermilion = color.RGBA{213, 94, 0, 255}
	SkyBlue   = color.RGBA{86, 180, 233, 255}
	Green     = color.RGBA{0, 158, 115, 255}
)

// Dash is how a line is broken: the lengths of dash and gap, in points.
type Dash [2]vg.Length

// Dashes.
var (
	Dashed = Dash{4, 2}
	Dotted = Dash{1, 1.6}
)

// Hollow is a circle, square or triangle that is white inside.
func Hollow(marker draw.GlyphDrawer) draw.GlyphDrawer { return hollow{marker} }

type hollow struct{ inside draw.GlyphDrawer }

var outlines = map[draw.GlyphDrawer]draw.GlyphDrawer{draw.CircleGlyph{}: draw.RingGlyph{}, draw.BoxGlyph{}: draw.SquareGlyph{}, draw.PyramidGlyph{}: draw.TriangleGlyph{}}

// DrawGlyph draws the marker.
func (h hollow) DrawGlyph(c *draw.Canvas, sty draw.GlyphStyle, pt vg.Point) {
	c.SetColor(color.RGBA{255, 255, 255, 255})
	h.inside.DrawGlyph(c, sty, pt)
	outlines[h.inside].DrawGlyph(c, sty, pt)
}

// Style is how a series looks.
type Style struct {
	Ink    color.RGBA
	Dash   Dash             // none: solid
	Width  vg.Length        // of a line, in points
	Marker draw.GlyphDrawer // of points, if any
	Size   vg.Length        // half the width of a marker, in points
}

func (s Style) line() draw.LineStyle {
	if s.Dash == (Dash{}) {
		return draw.LineStyle{Color: s.Ink, Width: s.Width}
	}
	return draw.LineStyle{Color: s.Ink, Width: s.Width, Dashes: s.Dash[:]}
}

// Series draws points: a line through them where the style has a width, and markers.
// The legend has its name, and its label stands at the right, beyond its last point;
// either may be empty. Without points there is nothing.
func (p *Panel) Series(name, label string, s Style, at plotter.XYs) {
	if len(at) == 0 {
		return
	}
	line := &plotter.Line{XYs: at, LineStyle: s.line()}
	p.Add(line)
	thumbs := []plot.Thumbnailer{line}
	if s.Marker != nil {
		marks := &plotter.Scatter{XYs: at, GlyphStyle: draw.GlyphStyle{Color: s.Ink, Radius: s.Size, Shape: s.Marker}}
		p.Add(marks)
		thumbs = append(thumbs, marks)
	}
	if name != "" {
		p.Legend.Add(name, thumbs...)
	}
	if label != "" {
		if len(p.ends) == 0 {
			p.Add(&p.ends)
		}
		p.ends = append(p.ends, end{label, s.Ink, at[len(at)-1]})
	}
}

// Note is text at a place of a panel, moved up from there by some points.
func (p *Panel) Note(text string, align draw.XAlignment, x, y float64, up vg.Length) {
	p.Add(&plotter.Labels{XYs: plotter.XYs{{X: x, Y: y}}, Labels: []string{text},
		TextStyle: []draw.TextStyle{letters(smallSize, align, draw.YCenter)}, Offset: vg.Point{Y: up}})
}

// Cover makes an axis show values.
func Cover(a *plot.Axis, values ...float64) {
	a.Min, a.Max = min(a.Min, slices.Min(values)), max(a.Max, slices.Max(values))
}

// end is the label of a series beyond its last point.
type end struct {
	label string
	ink   color.RGBA
	at    plotter.XY
}

// ends are labels in one column at the right, apart from one another, each with a
// thin line to its point.
type ends []end

const leader = vg.Length(12) // from the last point to the labels

// GlyphBoxes leave room for the labels.
func (all ends) GlyphBoxes(p *plot.Plot) (boxes []plot.GlyphBox) {
	for _, e := range all {
		width := letters(smallSize, draw.XLeft, draw.YCenter).Width(e.label)
		boxes = append(boxes, plot.GlyphBox{X: 1, Rectangle: vg.Rectangle{Max: vg.Point{X: leader + width, Y: 1}}})
	}
	return boxes
}

// Plot draws the labels.
func (all ends) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	slices.SortStableFunc(all, func(a, b end) int { return cmp.Compare(a.at.Y, b.at.Y) })
	var ys []float64
	for _, e := range all {
		ys = append(ys, y(e.at.Y).Points())
	}
	for i, moved := range apart(ys, smallSize.Points()+1) {
		e, to := all[i], vg.Point{X: c.Max.X + leader, Y: vg.Length(moved)}
		c.StrokeLine2(draw.LineStyle{Color: e.ink, Width: 0.3}, x(e.at.X)+3, y(e.at.Y), to.X-1, to.Y)
		style := letters(smallSize, draw.XLeft, draw.YCenter)
		style.Color = e.ink
		c.FillText(style, to.Add(vg.Point{Y: 1}), e.label)
	}
}

// apart moves rising heights until neighbours are about a gap apart: two that are
// nearer push each other away by the same length, again and again.
func apart(ys []float64, gap float64) []float64 {
	out := slices.Clone(ys)
	for range 200 {
		for i := 1; i < len(out); i++ {
			lack := max(0, gap-(out[i]-out[i-1]))
			out[i-1], out[i] = out[i-1]-lack/2, out[i]+lack/2
		}
	}
	return out
}
