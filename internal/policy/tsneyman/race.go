package tsneyman

import (
	"math"
	"math/bits"
	"slices"

	"speceval/internal/policy/seed"
)

// block is the number of tasks whose hazards are summed together.
const block = 8

// masses are the hazards of the cells of a window, of one task or of several.
type masses [levels]uint64

// race holds the hazards of all tasks in the window that is looked at, and draws
// which task has the largest score.
type race struct {
	table    *table
	ziggurat *ziggurat
	random   seed.Stream
	window   int32
	at       []int32  // row of each task
	moved    []int32  // the same, while the window moves
	tasks    []masses // of each task; zero for the fill of the last block
	blocks   []masses
	total    masses
	points   []point
	tied     []int32
}

// point is a point of the process of a task, given by the hazard between it and
// the upper end of its cell.
type point struct {
	task   int32
	hazard uint64
}

// resize makes room for a number of tasks.
func (r *race) resize(n int) {
	if n == len(r.at) {
		return
	}
	r.at, r.moved = make([]int32, n), make([]int32, n)
	r.blocks = make([]masses, (n+block-1)/block)
	r.tasks = make([]masses, block*len(r.blocks))
}

// change gives a task another row of the same window.
func (r *race) change(task int, row int32) {
	r.at[task] = row
	now, old, sum := &r.table.rows[row].mass, &r.tasks[task], &r.blocks[task/block]
	for l := range now {
		d := now[l] - old[l] // may wrap, and so do the sums: they are right in the end
		r.total[l] += d
		sum[l] += d
	}
	*old = *now
}

// sum adds up the hazards of all tasks.
func (r *race) sum() {
	r.total = masses{}
	for b := range r.blocks {
		sum := masses{}
		for i := range r.tasks[block*b : block*(b+1)] {
			for l, m := range &r.tasks[block*b+i] {
				sum[l] += m
			}
		}
		r.blocks[b] = sum
		for l, m := range &sum {
			r.total[l] += m
		}
	}
}

// winner draws the task with the largest score.
func (r *race) winner() int32 {
	e := r.ziggurat.draw(&r.random)
	sum, cell := r.total[0], 0
	for e >= sum {
		if cell++; cell == levels {
			return r.beyond()
		}
		sum += r.total[cell]
	}
	first := r.owner(cell)
	if e += r.ziggurat.draw(&r.random); e >= sum {
		return first.task // the only point of the cell
	}
	r.points = append(r.points[:0], first)
	same := true
	for e < sum {
		p := r.owner(cell)
		r.points = append(r.points, p)
		same = same && r.at[p.task] == r.at[first.task]
		e += r.ziggurat.draw(&r.random)
	}
	if same {
		return first.task // by symmetry
	}
	return r.top(cell)
}

// owner draws a point of a cell: a task in proportion to its hazard there, and a
// uniform position in that hazard. It looks at all blocks, and at all tasks of one,
// without a branch that could be guessed wrongly.
func (r *race) owner(cell int) point {
	if cell >= levels {
		return point{}
	}
	at, _ := bits.Mul64(r.random.Uint64(), r.total[cell])
	var sum, below, i uint64
	for b := range r.blocks {
		m := r.blocks[b][cell]
		sum += m
		_, before := bits.Sub64(at, sum, 0)
		below += m & (before - 1)
		i += 1 - before
	}
	at -= below
	sum, below = 0, 0
	i *= block
	tasks := (*[block]masses)(r.tasks[i:])
	for b := range tasks {
		m := tasks[b][cell]
		sum += m
		_, before := bits.Sub64(at, sum, 0)
		below += m & (before - 1)
		i += 1 - before
	}
	return point{int32(i), at - below}
}

// top is the owner of the top one of several points of a cell.
func (r *race) top(cell int) int32 {
	best, same := parts, true
	r.tied = r.tied[:0]
	for _, p := range r.points {
		j := r.table.split(r.at[p.task], cell).part(p.hazard)
		switch {
		case j < best:
			best, same = j, true
			r.tied = append(r.tied[:0], p.task)
		case j == best && !slices.Contains(r.tied, p.task):
			r.tied = append(r.tied, p.task)
			same = same && r.at[p.task] == r.at[r.tied[0]]
		}
	}
	if same {
		return r.tied[0] // alone, or by symmetry
	}
	return r.among(cell, best)
}

// among draws the scores of the tasks that are known to have theirs in one part
// of a cell, and returns the task with the largest. Equal scores, which have
// probability 0 but for rounding, are the lower index's.
func (r *race) among(cell, part int) int32 {
	high, low := r.table.windows[r.window].bounds(cell, part)
	best, selected := math.Inf(1), int32(0)
	for _, i := range r.tied {
		p := &r.table.rows[r.at[i]].posterior
		depth := p.depthWithin(high, low, r.table.split(r.at[i], cell).flat[part], &r.random)
		if depth < best || depth == best && i < selected {
			best, selected = depth, i
		}
	}
	return selected
}

// beyond returns the task with the largest score if all are below the window.
func (r *race) beyond() int32 {
	end := r.table.windows[r.window].depth[levels-1]
	best, selected := math.Inf(1), int32(0)
	for i := range r.at {
		p := &r.table.rows[r.at[i]].posterior
		depth := 0.0
		for depth <= end {
			depth = (p.logGain - logVariance(p.a, p.b, &r.random)) / math.Ln2
		}
		if depth < best {
			best, selected = depth, int32(i)
		}
	}
	return selected
}

// most bounds a hazard. An exponential number exceeds it once in 10^26 draws.
const most = 60

// posterior is Beta(a, b) of a success probability p, with what hazard needs.
type posterior struct {
	a, b, logBeta float64
	logGain       float64 // log n(n+1)
}

// newPosterior is the posterior after n rollouts where less passed, or where less failed:
// p(1−p) has the same law.
func newPosterior(alpha float64, n, less int32) posterior {
	a, b := alpha+float64(less), alpha+float64(n-less)
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	return posterior{a, b, la + lb - lab, math.Log(float64(n) * float64(n+1))}
}

// density holds what the law of the score has at x = 2^−depth: with y =
// x·n(n+1) = q(1−q), q ≤ 1/2, the densities of logit p at q and at 1−q, and
// root = 1−2q, by which the depth changes with the logit.
type density struct {
	q, near, far, root float64
}

func (p *posterior) at(depth float64) density {
	log4y := p.logGain - depth*math.Ln2 + 2*math.Ln2
	if log4y > 0 {
		log4y = 0
	}
	y4, root := 0.0, 0.0
	if log4y < -1 {
		y4 = math.Exp(log4y)
		root = math.Sqrt(1 - y4)
	} else {
		rest := math.Expm1(log4y)
		y4, root = 1+rest, math.Sqrt(-rest)
	}
	half := math.Log1p(root)
	logQ, logRest := log4y-math.Ln2-half, half-math.Ln2
	d := density{q: y4 / (2 + 2*root), near: math.Exp(p.a*logQ + p.b*logRest - p.logBeta), root: root}
	if far := (p.b - p.a) * (logQ - logRest); far > negligible {
		d.far = math.Exp(p.b*logQ + p.a*logRest - p.logBeta)
	}
	return d
}

// negligible is the logarithm of a share of a density that is left out.
const negligible = -45

// hazard is −log F(x) in 1/unit, where F is the distribution function of the
// score p(1−p)/(n(n+1)):
//
//	F(x) = P(p ≤ q) + P(p ≥ 1−q) = I_q(a, b) + I_q(b, a)
func (p *posterior) hazard(d density) uint64 {
	if d.root == 0 {
		return 0
	}
	below := 0.0
	if d.q < (p.a+1)/(p.a+p.b+2) {
		below = d.near / p.a * fractionBeta(p.a, p.b, d.q)
	} else {
		below = 1 - d.near/p.b*fractionBeta(p.b, p.a, 1-d.q)
	}
	if d.far > 1e-18*below {
		below += d.far / p.b * fractionBeta(p.b, p.a, d.q)
	}
	h := -math.Log(below)
	switch {
	case h > 0 && h < most:
		return uint64(h*unit + 0.5)
	case h <= 0:
		return 0
	}
	return most * unit
}

// fractionBeta is the continued fraction in
// I_x(a, b) = x^a (1−x)^b / (a B(a, b)) · fraction
// (Abramowitz and Stegun 26.5.8). Numerators and denominators of its convergents go forward,
// so that only their coefficients are divided.
func fractionBeta(a, b, x float64) float64 {
	const epsilon, tiny = 1e-14, 1e-140 // a hazard's unit is 10^−11
	n, d := 1.0, 1-(a+b)*x/(a+1)
	before, below := 1.0, 1.0 // numerator and denominator of the convergent before
	for m := 1.0; m < 1e5; m++ {
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		before, below = n+even*before, d+even*below
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		n, d = before+odd*n, below+odd*d
		if math.Abs(n*below-before*d) < epsilon*math.Abs(n*below) {
			break
		}
		if math.Abs(d) < tiny {
			n, d, before, below = n/tiny, d/tiny, before/tiny, below/tiny
		}
	}
	return n / d
}

// unit is the hazard 1. Hazards are whole multiples of 1/unit, so that sums of
// them are exact in whatever order tasks are added and taken away.
const unit = 1 << fraction

const fraction = 36

// ziggurat draws exponential numbers as multiples of 1/unit: 256 layers of equal
// area below exp(−x) (Marsaglia and Tsang, The ziggurat method, 2000). In layer
// i, the abscissa is width[i]·u for a uniform u, and below exp(−x) for certain
// if u < inside[i].
type ziggurat struct {
	inside [256]uint64 // of 2^56
	width  [256]uint64 // in 1/unit, times 2^20
	edge   [257]float64
	end    uint64
}

// tail is where the lowest layer's rectangle ends, and area is the area of a layer.
const tail, area = 7.69711747013104972, 0.0039496598225815571993

func newZiggurat() *ziggurat {
	z := new(ziggurat)
	z.edge[0], z.edge[1] = area/math.Exp(-tail), tail
	z.end = uint64(z.edge[1] * unit)
	for i := 1; i < 255; i++ {
		z.edge[i+1] = -math.Log(math.Exp(-z.edge[i]) + area/z.edge[i])
	}
	for i := range z.inside {
		z.inside[i] = uint64(z.edge[i+1] / z.edge[i] * (1 << 56))
		z.width[i] = uint64(math.Ldexp(z.edge[i], fraction+20))
	}
	return z
}

// draw returns an exponential number of mean unit.
func (z *ziggurat) draw(random *seed.Stream) uint64 {
	word := random.Uint64()
	layer, u := word&255, word>>8
	x, _ := bits.Mul64(u<<8, z.width[layer])
	if u < z.inside[layer] {
		return x >> 20
	}
	return z.rare(layer, float64(u)*0x1p-56, random)
}

// rare is the case of draw once in ninety: at the rim of a layer, or in the tail.
func (z *ziggurat) rare(layer uint64, u float64, random *seed.Stream) uint64 {
	if layer == 0 {
		return z.end + z.draw(random)
	}
	x := u * z.edge[layer]
	low, high := math.Exp(-z.edge[layer]), math.Exp(-z.edge[layer+1])
	if low+random.Float64()*(high-low) < math.Exp(-x) {
		return uint64(x * unit)
	}
	return z.draw(random)
}

// logVariance draws p from Beta(a, b) and returns log p(1−p). It works with
// logarithms, so that a tiny a or b cannot round p to an end.
func logVariance(a, b float64, random *seed.Stream) float64 {
	x, y := logGamma(a, random), logGamma(b, random)
	most, least := max(x, y), min(x, y)
	return least - most - 2*math.Log1p(math.Exp(least-most))
}

// logGamma draws from Gamma(shape, 1) and returns the logarithm (Marsaglia and
// Tsang, A simple method for generating gamma variables, 2000). Below shape 1 it
// draws at shape+1 and scales by a uniform number to the power 1/shape.
func logGamma(shape float64, random *seed.Stream) float64 {
	boost := 0.0
	if shape < 1 {
		boost = math.Log(1-random.Float64()) / shape
		shape++
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := normal(random)
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-random.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return math.Log(d*v) + boost
		}
	}
}

// normal draws from the standard normal law by the polar method.
func normal(random *seed.Stream) float64 {
	for {
		x, y := 2*random.Float64()-1, 2*random.Float64()-1
		if s := x*x + y*y; s < 1 && s > 0 {
			return x * math.Sqrt(-2*math.Log(s)/s)
		}
	}
}
