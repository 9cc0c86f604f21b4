package tsneyman

import "math"

// parts is into how many parts a cell is split.
const parts = 8

// split divides the hazard of a cell of a row among the cell's parts. It fills a
// cache line.
type split struct {
	below [parts - 1]uint64 // hazard from the cell's upper end to the lower end of each part but the last
	flat  [parts]uint8      // 256 times a lower bound of flatness
}

// part is the part with a point of the cell's hazard.
func (s *split) part(point uint64) int {
	j := 0
	for _, b := range s.below {
		if point >= b {
			j++
		}
	}
	return j
}

// split finds the split of a cell. It holds until the next one is made.
func (t *table) split(row int32, cell int) *split {
	if i := t.rows[row].splits[cell]; i != 0 {
		return &t.splits[i]
	}
	t.splits = append(t.splits, t.newSplit(row, cell))
	i := int32(len(t.splits) - 1)
	t.rows[row].splits[cell] = i
	return &t.splits[i]
}

func (t *table) newSplit(row int32, cell int) split {
	r := &t.rows[row]
	w := &t.windows[r.window]
	p := &r.posterior
	var s split
	depth := math.Inf(-1)
	if cell > 0 {
		depth = w.depth[cell-1]
	}
	upper := p.at(depth)
	start, last := p.hazard(upper), uint64(0)
	for j := range parts {
		_, depth := w.bounds(cell, j)
		lower := p.at(depth)
		s.flat[j] = uint8(256 * p.flatness(upper, lower))
		if j < parts-1 {
			h := p.hazard(lower)
			last = min(max(last, h-min(h, start)), r.mass[cell])
			s.below[j] = last
		}
		upper = lower
	}
	return s
}
