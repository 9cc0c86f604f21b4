package figure

import (
	"image"
	"image/color"
	"math"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// sheet is a canvas that records what is drawn on it, in points from the lower
// left corner, for any form to be written from.
type sheet struct {
	width, height float64
	marks         []mark
	now           pen
	stack         []pen
}

// pen is the state of drawing.
type pen struct {
	color color.Color
	width float64
	dash  []float64

	x, y, cos, sin float64 // place and direction of the axes
}

// mark is one thing on a sheet: a path, a disc or a line of text.
type mark struct {
	path   []step
	disc   bool    // of radius at x, y
	radius float64 // 0 for other marks
	text   run     // a line of text, from x, y

	x, y, size float64
	angle      float64 // in degrees, against the clock

	fill, stroke *color.RGBA
	width        float64
	dash         []float64

	title string // text under the pointer
	ghost bool   // not seen, only pointed at
}

// step is a part of a path.
type step struct {
	op byte      // 'M', 'L', 'C' or 'Z', as in SVG
	at []float64 // x and y of each point
}

func newSheet(width, height float64) *sheet {
	return &sheet{width: width, height: height, now: pen{color: color.Black, width: 1, cos: 1}}
}

// Size is that of the sheet.
func (s *sheet) Size() (x, y vg.Length) { return vg.Length(s.width), vg.Length(s.height) }

// SetLineWidth, SetLineDash and SetColor hold for what follows.
func (s *sheet) SetLineWidth(w vg.Length) { s.now.width = w.Points() }

// SetLineDash breaks lines.
func (s *sheet) SetLineDash(pattern []vg.Length, _ vg.Length) {
	s.now.dash = nil
	for _, d := range pattern {
		s.now.dash = append(s.now.dash, d.Points())
	}
}

// SetColor is for lines, areas and text.
func (s *sheet) SetColor(c color.Color) {
	if c == nil {
		c = color.Black
	}
	s.now.color = c
}

// Rotate turns the axes, in radians. A right angle is exact.
func (s *sheet) Rotate(angle float64) {
	sin, cos := math.Sincos(angle)
	if angle == math.Pi/2 {
		sin, cos = 1, 0
	}
	s.now.cos, s.now.sin = float64(s.now.cos*cos)-float64(s.now.sin*sin), float64(s.now.sin*cos)+float64(s.now.cos*sin)
}

// Translate moves the origin.
func (s *sheet) Translate(pt vg.Point) { s.now.x, s.now.y = s.place(pt) }

// Scale is not used by what draws here.
func (s *sheet) Scale(float64, float64) {}

// Push and Pop keep the state of drawing and bring it back.
func (s *sheet) Push() { s.stack = append(s.stack, s.now) }

// Pop brings back the state that was kept last.
func (s *sheet) Pop() {
	if n := len(s.stack) - 1; n >= 0 {
		s.now, s.stack = s.stack[n], s.stack[:n]
	}
}

func (s *sheet) place(pt vg.Point) (x, y float64) {
	px, py := pt.X.Points(), pt.Y.Points()
	return s.now.x + float64(px*s.now.cos) - float64(py*s.now.sin), s.now.y + float64(px*s.now.sin) + float64(py*s.now.cos)
}

// Stroke draws a line along a path.
func (s *sheet) Stroke(p vg.Path) {
	if s.now.width > 0 && len(p) > 0 {
		s.marks = append(s.marks, mark{path: s.steps(p), stroke: rgba(s.now.color), width: s.now.width, dash: s.now.dash})
	}
}

// Fill fills the inside of a path.
func (s *sheet) Fill(p vg.Path) {
	if len(p) > 0 {
		s.marks = append(s.marks, mark{path: s.steps(p), fill: rgba(s.now.color)})
	}
}

// FillString sets a line of text.
func (s *sheet) FillString(f font.Face, pt vg.Point, txt string) {
	m := mark{size: f.Font.Size.Points(), fill: rgba(s.now.color), text: run{text: txt}}
	m.x, m.y = s.place(pt)
	m.angle = math.Round(math.Atan2(s.now.sin, s.now.cos)*180/math.Pi*100) / 100
	for i, name := range faceNames {
		if string(f.Font.Variant) == name {
			m.text.face = i
		}
	}
	if loaded, err := faces(); err == nil {
		m.text.width = loaded[m.text.face].width(txt)
	}
	s.marks = append(s.marks, m)
}

// DrawImage is not used by what draws here.
func (s *sheet) DrawImage(vg.Rectangle, image.Image) {}

// steps is a path on the sheet. Arcs, which only gonum's own markers have, are
// cut to the chord: our markers are marks of their own.
func (s *sheet) steps(p vg.Path) []step {
	var out []step
	for _, c := range p {
		x, y := s.place(c.Pos)
		switch c.Type {
		case vg.MoveComp:
			out = append(out, step{'M', []float64{x, y}})
		case vg.CloseComp:
			out = append(out, step{op: 'Z'})
		default:
			out = append(out, step{'L', []float64{x, y}})
		}
	}
	return out
}

func rgba(c color.Color) *color.RGBA {
	v := color.RGBAModel.Convert(c).(color.RGBA)
	return &v
}

// marker draws the marker of a style. One without a marker is only pointed at.
func (s *sheet) marker(style Style, x, y float64, title string) {
	r := style.size()
	m := mark{title: title, x: x, y: y}
	ink, white := style.Ink.color(), White.color()
	m.fill = &ink
	if style.Hollow {
		m.fill, m.stroke, m.width = &white, &ink, 0.8
	}
	switch style.Marker {
	case None:
		if title == "" {
			return
		}
		m.ghost, m.disc, m.radius, m.fill, m.stroke = true, true, 3, nil, nil
	case Square:
		m.path = polygon(x, y, r*math.Sqrt(math.Pi)/2, [][2]float64{{-1, -1}, {1, -1}, {1, 1}, {-1, 1}})
	case Triangle:
		m.path = polygon(x, y, r*1.25, [][2]float64{{-1, -0.72}, {1, -0.72}, {0, 1}})
	case Diamond:
		m.path = polygon(x, y, r, [][2]float64{{0, -1}, {0.85, 0}, {0, 1}, {-0.85, 0}})
	default:
		m.disc, m.radius = true, r
	}
	s.marks = append(s.marks, m)
}

// polygon is a closed path through corners in units of r about a place.
func polygon(x, y, r float64, corners [][2]float64) []step {
	var out []step
	for i, c := range corners {
		op := byte('L')
		if i == 0 {
			op = 'M'
		}
		out = append(out, step{op, []float64{x + float64(r*c[0]), y + float64(r*c[1])}})
	}
	return append(out, step{op: 'Z'})
}

// line draws a line through places.
func (s *sheet) line(style Style, xs, ys []float64) {
	if len(xs) < 2 {
		return
	}
	ink := style.Ink.color()
	m := mark{stroke: &ink, width: style.width(), dash: style.Dash.pattern()}
	for i := range xs {
		op := byte('L')
		if i == 0 {
			op = 'M'
		}
		m.path = append(m.path, step{op, []float64{xs[i], ys[i]}})
	}
	s.marks = append(s.marks, m)
}

// frame draws the outline of a rectangle.
func (s *sheet) frame(style Style, left, right, bottom, top float64) {
	ink := style.Ink.color()
	s.marks = append(s.marks, mark{stroke: &ink, width: style.width(), path: rectangle(left, right, bottom, top)})
}

// ghost is a rectangle that is only pointed at.
func (s *sheet) ghost(title string, left, right, bottom, top float64) {
	if title != "" {
		s.marks = append(s.marks, mark{title: title, ghost: true, path: rectangle(left, right, bottom, top)})
	}
}

func rectangle(left, right, bottom, top float64) []step {
	return []step{{'M', []float64{left, bottom}}, {'L', []float64{right, bottom}},
		{'L', []float64{right, top}}, {'L', []float64{left, top}}, {op: 'Z'}}
}
