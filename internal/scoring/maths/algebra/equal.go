package algebra

import (
	"hash/fnv"
	"math"
	"math/big"
)

const (
	maxNodes = 600 // of an expression that is evaluated
	points   = 7   // at which expressions with variables are compared
	needed   = 3   // of the points at which both must be defined
)

// Equal tells whether a and b have the same value, for all values of their
// variables. It errs on the side of no: it is false if either has no value, or
// none that bounded arithmetic finds, unless both are written alike.
func Equal(a, b *Expr) bool {
	if Same(a, b) {
		return true
	}
	if Infinite(a) != 0 || Infinite(b) != 0 {
		return Infinite(a) == Infinite(b)
	}
	if a.Size(maxNodes) >= maxNodes || b.Size(maxNodes) >= maxNodes {
		return false
	}
	if x, ok := Exact(a); ok {
		if y, ok := Exact(b); ok {
			return x.Cmp(y) == 0
		}
	}
	return newComparison(a, b).equal()
}

// comparison says at which points two expressions are evaluated.
type comparison struct {
	a, b   *Expr
	count  int
	point  point
	strict bool // both must be defined at the same points: ln x is not ln |x|
}

func newComparison(a, b *Expr) comparison {
	either := func(is func(*Expr) bool) bool { return a.Any(is) || b.Any(is) }
	c := comparison{a: a, b: b, count: 1}
	if either(isSum) {
		c.point.nodes = new(int)
		*c.point.nodes = numericNodes
	}
	c.strict = either(func(e *Expr) bool { return e.Op == Call && e.Name == "abs" })
	c.point.complex = either(func(e *Expr) bool { return e.Op == Imaginary })
	if either(isSymbol) {
		c.count = points
		c.point.integer = either(discrete)
		c.point.real = !c.point.complex
	}
	return c
}

func isSymbol(e *Expr) bool { return e.Op == Symbol }

// discrete tells whether e has meaning for whole numbers only: n!, (−1)^n.
func discrete(e *Expr) bool {
	switch {
	case isSum(e):
		return true
	case e.Op == Call && (e.Name == "factorial" || e.Name == "binom"):
		return e.Any(isSymbol)
	case e.Op == Pow && e.Args[1].Any(isSymbol):
		r, ok := Exact(e.Args[0])
		return ok && r.Sign() < 0
	}
	return false
}

// equal compares at each point. Variables stand for positive numbers as long as
// an expression is undefined otherwise: √x·√y is √(xy).
func (c comparison) equal() bool {
	agreed := 0
	for c.point.index = range c.count {
		x, okX := c.point.value(c.a)
		y, okY := c.point.value(c.b)
		switch {
		case okX && okY:
			if !alike(x, y, c.count == 1) {
				return false
			}
			agreed++
		case okX != okY && (c.strict || c.point.positive()):
			return false
		}
	}
	return agreed >= min(needed, c.count)
}

// alike reports whether two values are equal within their errors, and the errors
// are small enough to decide: small compared with the values and, for a constant,
// which may be a large number and a little more, compared with 1.
func alike(x, y ball, constant bool) bool {
	d, ok := x.add(y.neg())
	if !ok || exponent(d.re) > d.err+1 || exponent(d.im) > d.err+1 {
		return false
	}
	scale := max(x.high(), y.high())
	return (d.err < scale-60 || d.err < -100) && (d.err < -20 || !constant)
}

// positive tells whether the variables are positive at p.
func (p point) positive() bool { return p.integer || p.index%2 == 0 }

// variable is the value of a variable at p: the same for the same name, and
// for another name another number without any relation to it.
func (p point) variable(name string) ball {
	h := fnv.New64a()
	h.Write([]byte{byte(p.index)})
	h.Write([]byte(name))
	// A multiplication spreads the last bytes over all bits.
	bits := h.Sum64() * 0x9e3779b97f4a7c15
	bits ^= bits >> 32
	bits *= 0xd6e8feb86659fd93
	unit := float64(bits>>11) * 0x1p-53
	if p.integer {
		return whole(int64(3 + math.Floor(unit*28)))
	}
	ranges := [...][2]float64{{0.1, 0.9}, {-4, -1}, {1, 4}, {-1, 1}, {5, 30}, {-20, 20}, {0.3, 3}}
	r := ranges[p.index%len(ranges)]
	return ball{re: newFloat().SetFloat64(r[0] + unit*(r[1]-r[0])), err: exactly}
}

// Ratio is the sign of a/b where that is the same number other than zero for
// all values of their variables; 0 otherwise.
func Ratio(a, b *Expr) int {
	if a.Size(maxNodes) >= maxNodes || b.Size(maxNodes) >= maxNodes {
		return 0
	}
	c := newComparison(a, b)
	var first ball
	defined := 0
	for c.point.index = range c.count {
		x, okX := c.point.value(a)
		y, okY := c.point.value(b)
		if okX && x.nought() || okY && y.nought() {
			return 0
		}
		r, ok := over(x, okX, y, okY)
		switch {
		case !ok:
			continue
		case defined == 0:
			first = r
		case !alike(r, first, false):
			return 0
		}
		defined++
	}
	if defined < min(needed, c.count) {
		return 0
	}
	if first.im != nil {
		return 1
	}
	return first.re.Sign()
}

// Near tells whether e is a real number no farther from center than tolerance.
func Near(e *Expr, center, tolerance *big.Rat) bool {
	if e.Size(maxNodes) >= maxNodes || e.Any(isSymbol) {
		return false
	}
	p := point{complex: e.Any(func(e *Expr) bool { return e.Op == Imaginary })}
	x, ok := p.value(e)
	if !ok || x.im != nil || x.err > -30 && x.err > x.high()-60 {
		return false
	}
	d := newFloat().Sub(x.re, newFloat().SetRat(center))
	return d.Abs(d).Cmp(newFloat().SetRat(tolerance)) <= 0
}
