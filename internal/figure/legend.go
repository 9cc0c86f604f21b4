package figure

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/plot/text"
)

// entry is a line of a legend.
type entry struct {
	name  string
	style Style
	line  bool
	box   bool
}

// Sizes of a legend, in points.
const (
	sampleWidth = 14.0
	sampleGap   = 3.0
	entryGap    = 9.0
	entryHeight = smallSize * 1.3
)

func (e entry) sample() float64 {
	switch {
	case e.line:
		return sampleWidth
	case e.box:
		return 9
	}
	return 2*e.style.size() + 1
}

func (e entry) width() float64 { return e.sample() + sampleGap + lineWidth(e.name, smallSize) }

// entries is what a panel's legend lists: named series, once each, and what
// boxes show.
func (p Panel) entries() []entry {
	var out []entry
	boxes := false
	for _, s := range p.Series {
		if _, ok := s.(Box); ok {
			boxes = true
		}
		n, ok := s.(named)
		if !ok {
			continue
		}
		name, style, line := n.key()
		if name != "" && !slices.ContainsFunc(out, func(e entry) bool { return e.name == name }) {
			out = append(out, entry{name: name, style: style, line: line})
		}
	}
	if boxes {
		out = append(out, entry{name: "quartiles, median", box: true}, entry{name: "mean", style: meanStyle})
	}
	return out
}

// drawLegend draws the legend where the panel wants it.
func (p placed) drawLegend(c canvas) {
	left, _, _, top := c.edges()
	list := p.entries()
	switch p.Legend {
	case Above:
		x, y := left, p.area.Max.Y.Points()+smallSize*0.8
		for _, e := range list {
			e.draw(c.sheet, x, y)
			x += e.width() + entryGap
		}
	case TopLeft:
		for i, e := range list {
			e.draw(c.sheet, left+5, top-entryHeight*(float64(i)+0.6))
		}
	}
}

func (e entry) draw(s *sheet, x, y float64) {
	middle := x + e.sample()/2
	switch {
	case e.box:
		left, right, high := middle-4, middle+4, smallSize*0.38
		s.frame(Style{Width: 0.7}, left, right, y-high, y+high)
		s.line(Style{Width: 1.5}, []float64{left, right}, []float64{y, y})
	case e.line:
		s.line(e.style, []float64{x, x + sampleWidth}, []float64{y, y})
		s.marker(e.style, middle, y, "")
	default:
		s.marker(e.style, middle, y, "")
	}
	s.say(e.name, x+e.sample()+sampleGap, y, labelStyle(smallSize, Black, text.XLeft, text.YCenter))
}

// drawLabels names lines at their right ends, in one column. Names that would touch
// are moved apart.
func (p placed) drawLabels(c canvas) {
	type label struct {
		line Line
		y    float64
	}
	var list []label
	right := math.Inf(-1)
	for _, s := range p.Series {
		if l, ok := s.(Line); ok && l.Label != "" && len(l.At) > 0 {
			last := l.At[len(l.At)-1]
			list = append(list, label{l, c.y(last.Y)})
			right = max(right, c.x(last.X))
		}
	}
	slices.SortStableFunc(list, func(a, b label) int { return cmp.Compare(a.y, b.y) })
	ys := make([]float64, len(list))
	for i, l := range list {
		ys[i] = l.y
	}
	for i, y := range apart(ys, entryHeight) {
		l := list[i]
		c.say(l.line.Label, right+tailGap, y, labelStyle(smallSize, l.line.Style.Ink, text.XLeft, text.YCenter))
	}
}

// apart moves rising heights until neighbours are a gap apart, each as little as
// that takes: heights that touch form a block about their common middle.
func apart(ys []float64, gap float64) []float64 {
	type block struct {
		sum   float64 // of the heights, less each one's place in the block
		count int
		first int
	}
	var blocks []block
	middle := func(b block) float64 { return b.sum / float64(b.count) }
	for i, y := range ys {
		b := block{y, 1, i}
		for len(blocks) > 0 {
			before := blocks[len(blocks)-1]
			if middle(b)-middle(before) >= gap*float64(before.count) {
				break
			}
			b = block{before.sum + b.sum - float64(gap*float64(before.count*b.count)), before.count + b.count, before.first}
			blocks = blocks[:len(blocks)-1]
		}
		blocks = append(blocks, b)
	}
	out := make([]float64, len(ys))
	for _, b := range blocks {
		for k := range b.count {
			out[b.first+k] = middle(b) + float64(gap*float64(k))
		}
	}
	return out
}
