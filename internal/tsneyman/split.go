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

// split finds the split of a cell.
func (t *table) split(row int32, cell int) *split {
	key := uint64(row)<<8 | uint64(cell)
	mask := uint64(len(t.byCell) - 1)
	at := hash(row, int32(cell), 0)
	for ; ; at++ {
		slot := t.byCell[at&mask]
		if slot == 0 {
			break
		}
		if slot>>splitBits == key {
			return &t.splits[slot&(1<<splitBits-1)]
		}
	}
	t.splits = append(t.splits, t.newSplit(row, cell))
	number := uint64(len(t.splits) - 1)
	t.byCell[at&mask] = key<<splitBits | number
	if 2*len(t.splits) > len(t.byCell) {
		t.spread()
	}
	return &t.splits[number]
}

// splitBits are the lower bits of a slot of byCell, which hold the number of a
// split; above are row and cell, so that a look there is enough to know it.
const splitBits = 20

// spread doubles the slots of splits.
func (t *table) spread() {
	old := t.byCell
	t.byCell = make([]uint64, 2*len(old))
	mask := uint64(len(t.byCell) - 1)
	for _, slot := range old {
		if slot == 0 {
			continue
		}
		at := hash(int32(slot>>(splitBits+8)), int32(slot>>splitBits&255), 0)
		for t.byCell[at&mask] != 0 {
			at++
		}
		t.byCell[at&mask] = slot
	}
}

func (t *table) newSplit(row int32, cell int) split {
	r := &t.rows[row]
	w := &t.windows[r.window]
	p := newPosterior(t.alpha, r.n, r.less)
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
