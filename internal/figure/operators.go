package figure

import (
	"fmt"
	"math"
	"strings"

	"speceval/internal/typeface"
)

// operators is a sheet as the content of a PDF page.
func (s *sheet) operators(subsets [faceCount]typeface.Subset) string {
	var b strings.Builder
	state := map[string]string{} // what has been set, by operator
	set := func(operator, text string) {
		if state[operator] != text {
			state[operator] = text
			b.WriteString(text)
		}
	}
	for _, m := range s.marks {
		if m.ghost {
			continue
		}
		if m.fill != nil {
			set("rg", pdfColor(m.fill, "rg"))
		}
		if m.stroke != nil {
			set("RG", pdfColor(m.stroke, "RG"))
			set("w", number(m.width)+" w\n")
			var parts []string
			for _, d := range m.dash {
				parts = append(parts, number(d))
			}
			set("d", "["+strings.Join(parts, " ")+"] 0 d\n")
		}
		switch {
		case m.text.text != "":
			writeText(&b, m, subsets[m.text.face])
		default:
			writePath(&b, m)
		}
	}
	return b.String()
}

func writePath(b *strings.Builder, m mark) {
	path := m.path
	if m.disc {
		path = circle(m.x, m.y, m.radius)
	}
	for _, p := range path {
		for _, v := range p.at {
			b.WriteString(number(v) + " ")
		}
		b.WriteString(map[byte]string{'M': "m", 'L': "l", 'C': "c", 'Z': "h"}[p.op] + "\n")
	}
	switch {
	case m.fill != nil && m.stroke != nil:
		b.WriteString("B\n")
	case m.fill != nil:
		b.WriteString("f\n")
	default:
		b.WriteString("S\n")
	}
}

// circle is four curves.
func circle(x, y, r float64) []step {
	k := float64(r * 4 / 3 * (math.Sqrt2 - 1))
	return []step{
		{'M', []float64{x + r, y}},
		{'C', []float64{x + r, y + k, x + k, y + r, x, y + r}},
		{'C', []float64{x - k, y + r, x - r, y + k, x - r, y}},
		{'C', []float64{x - r, y - k, x - k, y - r, x, y - r}},
		{'C', []float64{x + k, y - r, x + r, y - k, x + r, y}},
		{op: 'Z'},
	}
}

func writeText(b *strings.Builder, m mark, subset typeface.Subset) {
	sin, cos := math.Sincos(m.angle * math.Pi / 180)
	if m.angle == 90 {
		sin, cos = 1, 0
	}
	fmt.Fprintf(b, "BT\n/F%d %s Tf\n%s %s %s %s %s %s Tm\n<", m.text.face, number(m.size),
		number(cos), number(sin), number(-sin), number(cos), number(m.x), number(m.y))
	for _, r := range m.text.text {
		fmt.Fprintf(b, "%04X", subset.Glyph[r])
	}
	b.WriteString("> Tj\nET\n")
}
