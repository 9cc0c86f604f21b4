package figure

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Sizes, in points at printed size.
const (
	labelSize = 8.0 // titles and axis labels
	smallSize = 7.0 // ticks, legends and notes
	thin      = 0.6 // axes
	between   = 14.0
	edge      = 2.0 // of the sheet, kept free
)

// sheetOf draws a figure.
func sheetOf(f Figure) (*sheet, error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	if _, err := faces(); err != nil {
		return nil, err
	}
	s := newSheet(f.Width, f.Height)
	for _, row := range arranged(f, s) {
		for _, p := range row {
			p.draw(s)
		}
	}
	return s, nil
}

// placed is a panel with its part of the sheet.
type placed struct {
	Panel
	plot *plot.Plot
	area draw.Canvas // axes and data
}

// arranged places panels in a grid, such that the axes of a column, and those of
// a row, are in line.
func arranged(f Figure, s *sheet) [][]placed {
	rows, columns := len(f.Panels), len(f.Panels[0])
	wide := (f.Width - 2*edge - between*float64(columns-1)) / float64(columns)
	high := (f.Height - 2*edge - between*float64(rows-1)) / float64(rows)
	grid := make([][]placed, rows)
	left := make([]float64, columns) // room for the axes, by column
	for i, row := range f.Panels {
		for j, p := range row {
			c := draw.NewCanvas(s, vg.Length(f.Width), vg.Length(f.Height))
			c.Min.X = vg.Length(edge + float64(j)*(wide+between))
			c.Max.Y = vg.Length(f.Height - edge - float64(i)*(high+between) - p.head())
			c.Max.X, c.Min.Y = c.Min.X+vg.Length(wide-p.tail()), vg.Length(f.Height-edge-float64(i)*(high+between)-high)
			g := placed{Panel: p, plot: p.axes(), area: c}
			left[j] = max(left[j], (g.data().Min.X - c.Min.X).Points())
			grid[i] = append(grid[i], g)
		}
	}
	for _, row := range grid {
		for j := range row {
			lack := left[j] - (row[j].data().Min.X - row[j].area.Min.X).Points()
			row[j].area.Min.X += vg.Length(lack)
		}
	}
	return grid
}

// data is the part of the sheet within the axes.
func (p placed) data() draw.Canvas { return p.plot.DataCanvas(p.area) }

// head is the room above the data, for title and legend.
func (p Panel) head() float64 {
	var room float64
	if p.Title != "" {
		room += labelSize * 1.5
	}
	if p.Legend == Above {
		room += smallSize * 1.6
	}
	return room
}

// tail is the room to the right of the data, for the labels of lines.
func (p Panel) tail() float64 {
	var room float64
	for _, s := range p.Series {
		if l, ok := s.(Line); ok && l.Label != "" {
			room = max(room, lineWidth(l.Label, smallSize)+tailGap)
		}
	}
	return room
}

const tailGap = 5.0

// axes is the panel's axes as gonum/plot draws them.
func (p Panel) axes() *plot.Plot {
	g := plot.New()
	g.BackgroundColor, g.TextHandler = nil, labels{}
	var xs, ys []float64
	for _, s := range p.Series {
		x, y := s.extent()
		xs, ys = append(xs, x...), append(ys, y...)
	}
	for _, n := range p.Notes {
		xs, ys = append(xs, n.X), append(ys, n.Y)
	}
	for _, side := range []struct {
		axis   Axis
		to     *plot.Axis
		values []float64
		x      text.XAlignment
		y      text.YAlignment
	}{{p.X, &g.X, xs, text.XCenter, text.YTop}, {p.Y, &g.Y, ys, text.XRight, text.YCenter}} {
		to := side.to
		to.Width, to.Tick.Width, to.Tick.Length, to.Padding = thin, thin, 2.5, 0
		to.Label.TextStyle = labelStyle(labelSize, Black, text.XCenter, text.YBottom)
		to.Label.Padding = 2
		to.Tick.Label = labelStyle(smallSize, Black, side.x, side.y)
		low, high := side.axis.limits(side.values)
		side.axis.set(to, low, high)
	}
	g.X.Tick.Label.YAlign, g.X.Label.Padding = -1.14, 3.5 // ticks and labels do not touch
	return g
}

// draw draws a panel: series from back to front, then axes, then what is said.
func (p placed) draw(s *sheet) {
	c := newCanvas(s, p.data(), p.plot)
	left, right, bottom, top := c.edges()
	p.drawTitle(s, left)
	if p.Instead != "" {
		lines := wrapped(p.Instead, smallSize, right-left-8)
		s.say(lines, (left+right)/2, (bottom+top)/2, labelStyle(smallSize, Grey, text.XCenter, text.YCenter))
		return
	}
	for _, series := range p.Series {
		series.draw(c)
	}
	p.plot.Draw(p.area)
	p.drawLegend(c)
	p.drawLabels(c)
	for _, n := range p.Notes {
		align := map[Align]text.XAlignment{Middle: text.XCenter, Start: text.XLeft, End: text.XRight}[n.Align]
		s.say(n.Text, c.x(n.X)+n.Right, c.y(n.Y)+n.Up, labelStyle(smallSize, n.Ink, align, text.YCenter))
	}
}

// drawTitle writes the title, in line with those of the row.
func (p placed) drawTitle(s *sheet, left float64) {
	if p.Title == "" {
		return
	}
	s.say(p.Title, left, p.area.Max.Y.Points()+p.head()-labelSize*0.5, labelStyle(labelSize, Black, text.XLeft, text.YCenter))
}

// say sets text at a place.
func (s *sheet) say(txt string, x, y float64, style text.Style) {
	labels{}.Draw(s, txt, style, vg.Point{X: vg.Length(x), Y: vg.Length(y)})
}

// margin is the part of an axis beyond the data, at either end.
const margin = 0.04

// limits is where an axis begins and ends; a logarithmic one is above zero, also
// where it has no values.
func (a Axis) limits(values []float64) (low, high float64) {
	low, high = span(append(values[:len(values):len(values)], a.Cover...))
	switch {
	case low > high && a.Log:
		return 1, 2
	case low > high:
		return 0, 1
	}
	if a.Log {
		low, high = math.Log2(low), math.Log2(high)
	}
	if low == high { // one value is shown in the middle
		reach := 0.5
		if !a.Log && low != 0 {
			reach = math.Abs(low) / 10
		}
		low, high = low-reach, high+reach
	} else if !a.Tight {
		room := margin * (high - low)
		low, high = low-room, high+room
	}
	if a.Log {
		return math.Exp2(low), math.Exp2(high)
	}
	if a.Zero {
		low = min(0, high-1e-9)
	}
	return low, high
}

// set puts limits and ticks on an axis of gonum/plot.
func (a Axis) set(to *plot.Axis, low, high float64) {
	to.Min, to.Max = low, high
	if a.Log {
		to.Scale = plot.LogScale{}
	}
	to.Label.Text = a.Label
	ticks := a.Ticks
	if ticks == nil {
		ticks = niceTicks(low, high, a.Log)
	}
	var marks plot.ConstantTicks
	for _, t := range ticks {
		marks = append(marks, plot.Tick{Value: t.At, Label: t.Label})
	}
	to.Tick.Marker = marks
	if a.Blank {
		to.Tick.Marker, to.Width = plot.ConstantTicks{}, 0
	}
}

// niceTicks is four to seven ticks at multiples of one, two or five times a
// power of ten; powers of two on a logarithmic axis.
func niceTicks(low, high float64, log bool) []Tick {
	var out []Tick
	if log {
		for e := math.Ceil(math.Log2(low)); e <= math.Log2(high); e++ {
			out = append(out, Tick{math.Exp2(e), strconv.FormatFloat(math.Exp2(e), 'g', -1, 64)})
		}
		return out
	}
	step, decimals := niceStep((high - low) / 5)
	if step == 0 {
		return nil
	}
	for k := math.Ceil(low/step - 1e-9); k*step <= high+1e-9*step; k++ {
		v := k * step
		if decimals >= 0 {
			v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'f', decimals, 64), 64)
		}
		out = append(out, Tick{v, tickLabel(v, decimals)})
		if len(out) > 20 {
			return nil // numbers so close that steps are lost in rounding
		}
	}
	return out
}

// niceStep is the nice step next to a rough one, and its decimals.
func niceStep(rough float64) (step float64, decimals int) {
	if !(rough > 0) || math.IsInf(rough, 0) {
		return 0, 0
	}
	e := int(math.Floor(math.Log10(rough)))
	factor, unit := 10.0, math.Pow(10, float64(e))
	for _, f := range []float64{1, 2, 5} {
		if rough <= f*unit*1.0001 {
			factor = f
			break
		}
	}
	if factor == 10 {
		factor, e = 1, e+1
	}
	decimals = max(0, -e)
	if decimals > 12 || e > 12 {
		decimals = -1
	}
	return factor * math.Pow(10, float64(e)), decimals
}

// tickLabel is a number with a real minus sign.
func tickLabel(v float64, decimals int) string {
	format := byte('f')
	if decimals < 0 {
		format = 'g'
		decimals = 3
	}
	s := strconv.FormatFloat(v, format, decimals, 64)
	if s[0] == '-' && strings.Trim(s, "-0.") == "" {
		return s[1:]
	}
	if s[0] == '-' {
		s = "−" + s[1:]
	}
	return s
}
