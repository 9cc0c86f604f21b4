package algebra

import "math/big"

// Bounds of a comparison. What they leave undecided is not equal.
const (
	maxNodes = 600     // of an expression that is evaluated
	quick    = 128     // bits of the first evaluation, at which most numbers differ
	maxPrec  = 1 << 15 // bits of the last one
	enough   = 200     // bits after the point to which equal numbers agree, and the sizes of all values half as much again
	maxSteps = 400_000 // operations on 64 bits
)

// Equal reports whether a and b have the same value, for all values of their variables
// in their domains: a variable is an integer if its letter is like n, a natural number in n! and
// binomial coefficients, and else real. It errs on the side of no: it is false if either has no value, or
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
	c := newComparison(a, b)
	if len(c.variables) == 0 {
		v, _ := c.difference(a, b, false, maxPrec)
		return v == same
	}
	return c.everywhere()
}

// verdict is the outcome of a comparison.
type verdict int

const (
	undecided verdict = iota
	same
	different
	onlyOne // is defined
)

// comparison is of two expressions.
type comparison struct {
	a, b      *Expr
	variables []variable
	complex   bool // roots and powers are principal values
	work      float64
}

func newComparison(a, b *Expr) *comparison {
	c := &comparison{a: a, b: b, work: maxSteps, complex: a.Any(isImaginary) || b.Any(isImaginary)}
	both := Make(Add, a, b)
	for _, name := range Variables(both) {
		c.variables = append(c.variables, variable{name, domainOf(name, both)})
	}
	return c
}

func isImaginary(e *Expr) bool { return e.Op == Imaginary }

// at is an evaluator with a precision.
func (c *comparison) at(prec uint) *evaluator {
	return &evaluator{prec: prec, complex: c.complex, real: !c.complex && len(c.variables) > 0, work: &c.work}
}

// difference compares two expressions without variables, among real numbers alone or among all,
// and returns what a less b is if they differ. The precision rises up to a bound until that is not
// zero, or would have to be larger if it were not. That is no theorem, but a form of the uniformity
// conjecture of Richardson (2007): an expression that is as close to zero has a part that is as
// small or as large.
func (c *comparison) difference(a, b *Expr, real bool, to uint) (verdict, number) {
	for prec := uint(quick); prec <= to && c.work > 0; {
		p := c.at(prec)
		p.real = real
		x, y := p.value(a), p.value(b)
		switch one := x.defined() != y.defined(); {
		case (one || !x.defined()) && len(c.variables) == 0 && prec < 16*quick: // it may be lost in noise
			prec *= 4
			continue
		case one && !p.outside: // n!/(n−k)! is k!·C(n,k), which is zero below k
			if real { // √x·√x is x, for it is so for complex numbers
				if v, _ := c.difference(a, b, false, 4*quick); v != different {
					return undecided, x
				}
			}
			return onlyOne, x
		}
		d := p.add(x, p.neg(y))
		switch {
		case !d.defined():
			return undecided, d
		case !d.zero():
			return different, d
		case d.rat != nil || -d.err > enough+1.5*p.height:
			return same, d
		}
		prec = max(2*prec, prec+uint(enough+1.5*p.height+d.err)+8)
	}
	return undecided, undefined
}

// Exact is the value of e if it is a rational number: one that exact arithmetic finds, or
// one with a small denominator that e does not differ from.
func Exact(e *Expr) (*big.Rat, bool) {
	if e.Op == Number {
		return e.Num, true
	}
	work := float64(maxSteps)
	if n := (&evaluator{work: &work, complex: e.Any(isImaginary)}).value(e); n.rat != nil {
		return n.rat, true
	}
	n := constant(e)
	if n.rat != nil || !n.defined() {
		return n.rat, n.rat != nil
	}
	for d := int64(1); d <= maxDenominator; d++ {
		f := new(big.Float).Mul(n.re, new(big.Float).SetInt64(d))
		r, _ := f.Rat(nil)
		nearest := floor(r.Add(r, half))
		if off := f.Sub(f, new(big.Float).SetInt(nearest)); size2(off) < -enough/2 {
			r := new(big.Rat).SetFrac(nearest, big.NewInt(d))
			v, _ := newComparison(e, e).difference(e, Rational(r), false, maxPrec)
			return r, v == same
		}
	}
	return nil, false
}

// maxDenominator bounds the denominators of numbers that are not computed exactly.
const maxDenominator = 60

// constant is the value of a real constant to a precision at which it is hardly lost.
func constant(e *Expr) number {
	if e.Size(maxNodes) >= maxNodes || len(Variables(e)) > 0 {
		return undefined
	}
	n := newComparison(e, e).at(2 * quick).value(e)
	if !n.isReal() {
		return undefined
	}
	return n
}

// Sign is the sign of a constant, if it is real and that can be decided.
func Sign(e *Expr) (sign int, ok bool) {
	if !constant(e).defined() {
		return 0, false
	}
	v, d := newComparison(e, Int(0)).difference(e, Int(0), false, maxPrec)
	if v == different {
		return d.sign(), true
	}
	return 0, v == same
}

// Compare is the sign of a less b, for two constants; 0 if it cannot be decided.
func Compare(a, b *Expr) int {
	if a.Op == Number && b.Op == Number {
		return a.Num.Cmp(b.Num)
	}
	sign, _ := Sign(minus(a, b))
	return sign
}

// Ratio is the sign of a/b where that is the same number other than zero for
// all values of their variables; 0 otherwise.
func Ratio(a, b *Expr) int {
	if a.Size(maxNodes) >= maxNodes || b.Size(maxNodes) >= maxNodes {
		return 0
	}
	c := newComparison(a, b)
	first, ok := c.anywhere()
	if !ok {
		return 0
	}
	atA, atB := c.where(a, first), c.where(b, first)
	sign, ok := Sign(Make(Div, atA, atB))
	if !ok && c.complex {
		sign = 1
	}
	// a/b is constant if a·b₁ is b·a₁, with a₁ and b₁ the values at the first point.
	if sign == 0 || !Equal(Make(Mul, a, atB), Make(Mul, b, atA)) {
		return 0
	}
	return sign
}

// Near reports whether e is a real number no farther from center than tolerance.
func Near(e *Expr, center, tolerance *big.Rat) bool {
	n := constant(e)
	d := new(big.Rat)
	if n.rat != nil {
		d.Set(n.rat)
	} else {
		n.re.Rat(d)
	}
	d.Sub(d, center)
	return n.defined() && d.Abs(d).Cmp(tolerance) <= 0
}

// Float is a real constant as a floating-point number, if it has a value.
func Float(e *Expr) (f float64, ok bool) {
	n := constant(e)
	if n.rat != nil {
		f, _ = n.rat.Float64()
	} else {
		f, _ = n.re.Float64()
	}
	return f, n.defined()
}
