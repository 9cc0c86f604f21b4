package algebra

import (
	"math"
	"math/big"
)

// Bounds of numeric comparison. What they leave undecided is not equal.
const (
	maxNodes   = 600     // of an expression that is evaluated
	quick      = 128     // bits of the first evaluation, at which most numbers differ
	maxBound   = 12000   // bits to which constants must agree
	maxUnknown = 2000    // bits at which a number that has no value yet is given up
	maxPointed = 4000    // bits to which functions must agree at a point
	maxSteps   = 150_000 // operations on 64 bits
	maxDeep    = 24      // special points at which no difference is too small
	needed     = 3       // generic points at which two functions must be defined and equal
)

// Equal reports whether a and b have the same value, for all values of their variables
// in their domains. It errs on the side of no: it is false if either has no value, or
// none that bounded arithmetic finds, unless both are written alike.
func Equal(a, b *Expr, in Domains) bool {
	if Same(a, b) {
		return true
	}
	if Infinite(a) != 0 || Infinite(b) != 0 {
		return Infinite(a) == Infinite(b)
	}
	if a.Size(maxNodes) >= maxNodes || b.Size(maxNodes) >= maxNodes {
		return false
	}
	c := newComparison(a, b, in)
	switch c.symbolic() {
	case different:
		return false
	case same:
		return c.defined()
	}
	if len(c.names) == 0 {
		sign, ok := c.sign(minus(a, b))
		return ok && sign == 0
	}
	return c.everywhere(c.compare)
}

// verdict is the outcome of a comparison.
type verdict int

const (
	undecided verdict = iota
	same
	different
	onlyOne // is defined
	neither
)

// comparison is of two expressions.
type comparison struct {
	a, b    *Expr
	names   []string // of the variables
	in      Domains
	complex bool
	unsure  bool // there are atoms about which little is known, and which may be undefined
	work    float64
}

func newComparison(a, b *Expr, in Domains) *comparison {
	c := &comparison{a: a, b: b, in: in, work: maxSteps, complex: a.Any(isImaginary) || b.Any(isImaginary)}
	c.names = variables(b, variables(a, nil))
	return c
}

func isSymbol(e *Expr) bool    { return e.Op == Symbol }
func isImaginary(e *Expr) bool { return e.Op == Imaginary }

// symbolic compares forms.
func (c *comparison) symbolic() verdict {
	x := newFormer(c.complex)
	f, ok := x.form(c.a)
	if !ok {
		return undecided
	}
	g, ok := x.form(c.b)
	if !ok {
		return undecided
	}
	d, ok := x.sum(f, g, -1)
	c.unsure = x.unsure
	switch {
	case !ok:
		return undecided
	case d.value != nil && d.value.Sign() == 0:
		return same
	case x.unsure || x.pi && x.e:
		return undecided
	}
	return different
}

// at is a point without values of variables.
func (c *comparison) at(prec uint) point {
	return point{prec: prec, complex: c.complex, real: !c.complex && len(c.names) > 0, work: &c.work}
}

// sign is the sign of the real number e, if that can be decided. The precision rises until e
// is not zero, or would have to be larger if it were not.
func (c *comparison) sign(e *Expr) (int, bool) {
	bound, algebraic := -1.0, false
	for prec := uint(quick); prec <= 2*maxBound; {
		height := 0.0
		p := c.at(prec)
		p.height = &height
		b, ok := p.value(e)
		if !ok {
			if prec *= 4; prec > maxUnknown {
				break
			}
			continue
		}
		if !b.nought() {
			return b.sign(), true
		}
		if bound < 0 {
			bound, algebraic = separated(e, c.complex)
		}
		if !algebraic {
			bound = c.enough(height)
		}
		short := bound + b.err + 4
		if short <= 0 {
			return 0, true
		} else if bound > maxBound {
			break
		}
		prec = min(4*prec, prec+uint(short)+8)
	}
	return 0, false
}

// enough is the number of bits after the point to which two numbers agree only if they
// are equal, given the sum of the sizes of all values in them. It is no theorem, but a
// form of the uniformity conjecture of Richardson (2007): an expression that is as close
// to zero has a part that is as small or as large. Functions, which are compared at
// several points, take less.
func (c *comparison) enough(height float64) float64 {
	if len(c.names) > 0 {
		return 200 + height
	}
	return 200 + 3*height
}

// sign is the sign of the real part, or of the imaginary part where that is the larger one.
func (b ball) sign() int {
	if b.im != nil && size2(b.im) > size2(b.re) {
		return b.im.Sign()
	}
	return b.re.Sign()
}

// compare compares the expressions where variables have values.
func (c *comparison) compare(values []binding, deep bool) verdict {
	return c.compareAt(c.at(quick), substitute(c.a, values), substitute(c.b, values), deep)
}

func (c *comparison) compareAt(p point, a, b *Expr, deep bool) verdict {
	height := 0.0
	if deep {
		p.height = &height
	}
	for bound := math.Inf(1); ; {
		x, okX := p.value(a)
		y, okY := p.value(b)
		if !okX && !okY {
			return neither
		}
		if okX != okY { // √x·√x is x, for it is so for complex numbers
			if !p.real {
				return onlyOne
			}
			p.real = false
			if c.compareAt(p, a, b, false) == different {
				return onlyOne
			}
			return undecided
		}
		d, ok := x.add(y.neg())
		switch {
		case !ok:
			return undecided
		case !d.nought():
			return different
		case d.err < -bound:
			return same
		case !deep || p.height == nil || c.enough(height) > maxPointed:
			return undecided
		}
		bound = c.enough(height)
		p.prec = uint(bound+height/8) + quick
		p.height = nil
	}
}

// Sign is the sign of a constant, if it is real and that can be decided.
func Sign(e *Expr) (sign int, ok bool) {
	if s := Infinite(e); s != 0 {
		return s, true
	}
	if e.Size(maxNodes) >= maxNodes || e.Any(isSymbol) {
		return 0, false
	}
	if r, ok := Exact(e); ok {
		return r.Sign(), true
	}
	c := newComparison(e, Int(0), nil)
	if c.symbolic() == same {
		return 0, true
	}
	if b, ok := c.at(quick).value(e); ok && b.im != nil {
		return 0, false
	}
	return c.sign(e)
}

// Ratio is the sign of a/b where that is the same number other than zero for
// all values of their variables; 0 otherwise.
func Ratio(a, b *Expr, in Domains) int {
	if a.Size(maxNodes) >= maxNodes || b.Size(maxNodes) >= maxNodes {
		return 0
	}
	c := newComparison(a, b, in)
	first, ok := c.anywhere()
	if !ok {
		return 0
	}
	fix := func(e *Expr) *Expr { return substitute(e, first) }
	atA, atB := fix(a), fix(b)
	signA, okA := Sign(atA)
	signB, okB := Sign(atB)
	if !okA || !okB || signA == 0 || signB == 0 {
		if !c.complex {
			return 0
		}
		signA, signB = 1, 1
	}
	// a/b is constant if a·b₁ is b·a₁, with a₁ and b₁ the values at the first point.
	if !Equal(Make(Mul, a, atB), Make(Mul, b, atA), in) {
		return 0
	}
	return signA * signB
}

// Near reports whether e is a real number no farther from center than tolerance.
func Near(e *Expr, center, tolerance *big.Rat) bool {
	if e.Size(maxNodes) >= maxNodes || e.Any(isSymbol) {
		return false
	}
	c := newComparison(e, e, nil)
	x, ok := c.at(2 * quick).value(e)
	if !ok || x.im != nil || x.err > -30 && x.err > x.high()-60 {
		return false
	}
	d := x.float().Sub(x.re, x.float().SetRat(center))
	return d.Abs(d).Cmp(x.float().SetRat(tolerance)) <= 0
}

// Floor is the greatest integer that is no more than a real constant, if that can be decided.
func Floor(e *Expr) (*big.Int, bool) {
	if r, ok := Exact(e); ok {
		return floor(r), true
	}
	if e.Size(maxNodes) >= maxNodes || e.Any(isSymbol) {
		return nil, false
	}
	b, ok := newComparison(e, e, nil).at(2 * quick).value(Apply("floor", e))
	if !ok || b.im != nil {
		return nil, false
	}
	n, _ := b.re.Int(nil)
	return n, true
}
