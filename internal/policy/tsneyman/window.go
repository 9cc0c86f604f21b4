package tsneyman

import (
	"math"

	"speceval/internal/policy/seed"
)

// levels is the number of levels of a window, steps the number of its even cells.
const (
	levels = 20
	steps  = 14
	stride = 8 // by which a window moves
)

// offsets are the levels of a window, in its own steps below the first: even
// where the largest score is likely, then ever wider.
var offsets = [levels]int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 20, 28, 44, 76}

// windowKey is the position of a window: its first level is at depth first·2^−resolution
// and a step is 2^−resolution. The depth of a score x is −log2 x.
type windowKey struct {
	first      int64 // a multiple of stride
	resolution int
}

// window is a ladder of levels of the score. Cell l is between levels l−1 and l;
// cell 0 has no end above.
type window struct {
	windowKey
	depth [levels]float64
}

func newWindow(p windowKey) window {
	w := window{windowKey: p}
	for l := range w.depth {
		w.depth[l] = math.Ldexp(float64(p.first+offsets[l]), -p.resolution)
	}
	return w
}

// Directions from a window to its neighbours, whose rows a row stores.
const (
	higher = iota
	lower
	finer
	coarser
	directions
)

// neighbour is the window next to this one in a direction.
func (p windowKey) neighbour(direction int) windowKey {
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
func around(n int) windowKey {
	depth := math.Log2(4 * float64(n) * float64(n+1))
	return windowKey{int64(4*depth) &^ (stride - 1), 2}
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

// middle is where depthWithin goes over from the depth to the root.
const middle = 0.75

// by is the density of the score's place, up to a factor: by its root or by its
// depth.
func (d density) by(root bool) float64 {
	if root {
		return (d.near + d.far) / (1 - d.root*d.root)
	}
	return (d.near + d.far) / d.root
}

// bound is at least what by returns between two depths. Near rises up to the
// mode of logit p and falls after it, far rises with q, and so do the factors.
func (p *posterior) bound(high, low density) float64 {
	d := density{root: high.root, far: high.far, near: max(high.near, low.near)}
	if mode := p.a / (p.a + p.b); low.q < mode && mode < high.q {
		d.near = math.Exp(p.a*math.Log(mode) + p.b*math.Log1p(-mode) - p.logBeta)
	}
	byRoot := low.root < middle
	if byRoot {
		d.root = low.root
	}
	return d.by(byRoot)
}

// flatness is at most the least density over bound, between 0 and 1.
func (p *posterior) flatness(high, low density) float64 {
	byRoot := low.root < middle
	d := density{root: low.root, far: low.far, near: min(high.near, low.near)}
	if byRoot {
		d.root = high.root
	}
	f := d.by(byRoot) / p.bound(high, low) * (1 - 1e-9)
	if f >= 0 && f < 1 {
		return f
	}
	return 0
}

// depthWithin draws the depth of the score given that it is between two. It draws
// uniformly, by the root where scores are near their bound and so dense by depth, by
// the depth elsewhere, and accepts with the density over its bound. Flat is 256 times
// a lower bound of that (flatness), so that the density is seldom needed; at 0, within
// draws.
func (p *posterior) depthWithin(high, low float64, flat uint8, random *seed.Stream) float64 {
	if flat == 0 {
		v := within(p.a, p.b, p.logit(low), p.logit(high), random)
		return (p.logGain - v + 2*math.Log1p(math.Exp(v))) / math.Ln2
	}
	rootLow, byRoot := p.root(low), false
	rootHigh := 0.0
	if rootLow < middle {
		byRoot, rootHigh = true, p.root(high)
	}
	for {
		u := random.Float64()
		depth := 0.0
		if byRoot {
			root := rootHigh + u*(rootLow-rootHigh)
			depth = (p.logGain + 2*math.Ln2 - math.Log((1-root)*(1+root))) / math.Ln2
		} else {
			depth = high + u*(low-high)
		}
		word := random.Uint64()
		if word>>56 < uint64(flat) || p.accept(depth, high, low, byRoot, float64(word)*0x1p-64) {
			return depth
		}
	}
}

// accept is the test that flat could not decide; u is the number it was tried with.
func (p *posterior) accept(depth, high, low float64, byRoot bool, u float64) bool {
	d := p.at(depth)
	return u*p.bound(p.at(high), p.at(low)) < d.by(byRoot)
}

// root is 1−2q at a depth.
func (p *posterior) root(depth float64) float64 {
	log4y := p.logGain - depth*math.Ln2 + 2*math.Ln2
	if log4y >= 0 {
		return 0
	}
	return math.Sqrt(-math.Expm1(log4y))
}

// logit is log(q/(1−q)) of the smaller root q of q(1−q) = x·n(n+1), x = 2^−depth.
func (p *posterior) logit(depth float64) float64 {
	log4y := p.logGain - depth*math.Ln2 + 2*math.Ln2
	if log4y >= 0 {
		return 0
	}
	return log4y - 2*math.Log1p(math.Sqrt(-math.Expm1(log4y)))
}

// within draws the logit of min(p, 1−p), for p from Beta(a, b) with a ≤ b, given
// that it is between low and high ≤ 0. The density of v = logit p is
//
//	exp(a·v − (a+b)·log(1+exp v)), times 1 + exp((b−a)·v) for p and 1−p together,
//
// log-concave in the first factor and rising in the second. A tangent of the
// first, at the end nearer to the mode, and the second at high bound it. If most
// of the law may be within, p is drawn until it is.
func within(a, b, low, high float64, random *seed.Stream) float64 {
	mode := math.Log(a / b)
	if mode > low && mode < high && (high-low)*math.Sqrt(a*b/(a+b)) > 2 {
		for {
			v := -math.Abs(logGamma(a, random) - logGamma(b, random))
			if v >= low && v < high {
				return v
			}
		}
	}
	first := func(v float64) float64 { return a*v - (a+b)*math.Log1p(math.Exp(v)) }
	second := func(v float64) float64 { return math.Log1p(math.Exp((b - a) * v)) }
	start := min(max(mode, low), high)
	rate := 0.0
	if start != mode {
		rate = a - (a+b)/(1+math.Exp(-start))
	}
	for {
		v := tangent(start, rate, low, high, random)
		bound := first(start) + rate*(v-start) + second(high)
		if math.Log(1-random.Float64()) < first(v)+second(v)-bound {
			return v
		}
	}
}

// tangent draws from the density exp(rate·(v−start)) between low and high, where
// start is low and rate below 0, start is high and rate above, or rate is 0.
func tangent(start, rate, low, high float64, random *seed.Stream) float64 {
	for {
		if math.Abs(rate)*(high-low) > 0.5 {
			v := start + math.Log(1-random.Float64())/rate
			if v >= low && v <= high {
				return v
			}
			continue
		}
		v := low + random.Float64()*(high-low)
		if rate == 0 || math.Log(1-random.Float64()) < rate*(v-start) {
			return v
		}
	}
}
