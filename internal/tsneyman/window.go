package tsneyman

import "math"

// levels is the number of levels of a window, steps that of its even cells.
const (
	levels = 20
	steps  = 14
	stride = 8 // by which a window moves
)

// offsets are the levels of a window, in its own steps below the first: even
// where the largest score is likely, then ever wider.
var offsets = [levels]int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 20, 28, 44, 76}

// place says where a window is: its first level is at depth first·2^−resolution
// and a step is 2^−resolution. The depth of a score x is −log2 x.
type place struct {
	first      int64 // a multiple of stride
	resolution int
}

// window is a ladder of levels of the score. Cell l is between levels l−1 and l;
// cell 0 has no end above.
type window struct {
	place
	depth [levels]float64
}

func newWindow(p place) window {
	w := window{place: p}
	for l := range w.depth {
		w.depth[l] = math.Ldexp(float64(p.first+offsets[l]), -p.resolution)
	}
	return w
}

// The windows beside one another that a row knows.
const (
	higher = iota
	lower
	finer
	coarser
	directions
)

// beside is the window's neighbour in a direction.
func (p place) beside(direction int) place {
	switch direction {
	case higher:
		p.first -= stride
	case lower:
		p.first += stride
	case finer:
		p.first, p.resolution = 2*p.first, p.resolution+1
	case coarser:
		p.first, p.resolution = (p.first>>1)&^(stride-1), p.resolution-1
	}
	return p
}

// around is a window that is not far from where scores of tasks with n rollouts
// can be: from 1/(4n(n+1)) down.
func around(n int) place {
	depth := math.Log2(4 * float64(n) * float64(n+1))
	return place{int64(4*depth) &^ (stride - 1), 2}
}

// bounds are the depths between which part j of a cell lies. Of the top cell,
// part 0 has no end above.
func (w *window) bounds(cell, j int) (high, low float64) {
	if cell > 0 {
		from, step := w.depth[cell-1], (w.depth[cell]-w.depth[cell-1])/parts
		return from + float64(j)*step, from + float64(j+1)*step
	}
	step := math.Ldexp(1, -w.resolution)
	low = w.depth[0] - float64(parts-1-j)*step
	if j == 0 {
		return math.Inf(-1), low
	}
	return low - step, low
}
