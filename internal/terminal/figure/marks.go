package figure

import (
	"bytes"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
)

// mark is one thing on a printed figure: a line, an area or a text.
type mark struct {
	ink   color.RGBA
	path  vg.Path   // of a disc, an arc
	width vg.Length // of a line; 0 for an area
	dash  []vg.Length

	text  string
	size  vg.Length
	angle float64 // in degrees, against the clock
}

// marks draws a figure. Its arcs are whole discs. Places are in points from the upper left corner.
func (f Figure) marks() (out []mark, err error) {
	var sheet recorder.Canvas
	if err := f.draw(draw.NewCanvas(&sheet, vg.Length(f.Width), vg.Length(f.Height))); err != nil {
		return nil, err
	}
	var now mark
	add := func(m mark, p vg.Path) {
		if len(p) > 1 && p[1].Type == vg.ArcComp {
			p = p[1:2]
		}
		for i := range p {
			p[i].Pos.Y = vg.Length(f.Height) - p[i].Pos.Y
		}
		m.path = p
		out = append(out, m)
	}
	for _, a := range sheet.Actions {
		switch a := a.(type) {
		case *recorder.SetLineWidth:
			now.width = a.Width
		case *recorder.SetLineDash:
			now.dash = a.Dashes
		case *recorder.SetColor:
			if c, ok := a.Color.(color.RGBA); ok {
				now.ink = c
			}
		case *recorder.Rotate:
			now.angle = math.Round(a.Angle * 180 / math.Pi)
		case *recorder.Pop:
			now.angle = 0 // only text is turned
		case *recorder.Stroke:
			if now.width > 0 {
				add(now, a.Path)
			}
		case *recorder.Fill:
			m := now
			m.width, m.dash = 0, nil
			add(m, a.Path)
		case *recorder.FillString:
			m := now
			m.text, m.size = basic(strings.TrimSpace(a.String)), a.Size
			sin, cos := math.Sincos(m.angle * math.Pi / 180)
			x, y := a.Point.X.Points(), a.Point.Y.Points()
			if m.text != "" {
				add(m, vg.Path{{Pos: vg.Point{X: vg.Length(float64(x*cos) - float64(y*sin)), Y: vg.Length(float64(x*sin) + float64(y*cos))}}})
			}
		}
	}
	return out, nil
}

// basic replaces the characters that a font of a PDF cannot number, or XML not hold.
func basic(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0xFFFE {
			return '�'
		}
		return r
	}, s)
}

// fontFile is the TrueType file of the font.
func fontFile() ([]byte, error) {
	var b bytes.Buffer
	_, err := font.DefaultCache.Lookup(sans, 1).Face.WriteSourceTo(nil, &b)
	return b.Bytes(), err
}

// rounded is v as it is written: to hundredths of a point. What a machine's way
// of multiplying and adding changes is a billion times less, and would show only
// where v is just between two hundredths; the shift puts that between numbers
// which no figure has.
func rounded(v vg.Length) float64 { return math.Floor(v.Points()*100+0.500123)/100 + 0 } // and not −0
