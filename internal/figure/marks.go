package figure

import "math"

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
