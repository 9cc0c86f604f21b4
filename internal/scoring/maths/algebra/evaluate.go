package algebra

import "math/big"

// point says how an expression without variables is evaluated.
type point struct {
	prec    uint     // of results, in bits
	complex bool     // roots and powers are principal values, not real ones
	real    bool     // there are no other numbers: roots of negative numbers are undefined
	work    *float64 // in operations on 64 bits, that may yet be done
	height  *float64 // if not nil, the sum of the sizes of all values in bits: see enough
}

// value is e at the point. It is false where e is not defined, too large, or not known
// well enough to evaluate it.
func (p point) value(e *Expr) (ball, bool) {
	b, ok := p.principal(e)
	if !ok {
		return b, false
	}
	if p.height != nil {
		*p.height += measure(e, b)
	}
	return b, b.im == nil || !p.real
}

// measure is the size of a value in bits, be it large or small.
func measure(e *Expr, b ball) float64 {
	switch h := b.high(); {
	case e.Op == Number:
		return float64(size(e.Num))
	case b.nought():
		return 0
	default:
		return max(h, -h)
	}
}

// principal is the value of e whether or not it is real.
func (p point) principal(e *Expr) (ball, bool) {
	one := ball{re: newFloat(p.prec + guard).SetInt64(1), err: exactly}
	words := float64(p.prec+guard) / 64
	cost := words
	if e.Op == Call && e.Name == "sqrt" {
		cost *= 5
	} else if e.Op == Call && e.Name != "abs" || e.Op == Pow && e.Args[1].Op != Number || e.Op == Euler {
		cost *= 6 * words
	}
	if *p.work -= cost; *p.work < 0 {
		return one, false
	}
	switch e.Op {
	case Number:
		return one.rational(e.Num)
	case Pi:
		return one.circle(), true
	case Euler:
		return exp(one)
	case Imaginary:
		return ball{re: one.float(), im: one.re, err: exactly}, true
	case Neg:
		b, ok := p.value(e.Args[0])
		if !ok {
			return b, false
		}
		return b.neg(), true
	case Add, Mul:
		return p.fold(e)
	case Div:
		a, okA := p.value(e.Args[0])
		if !okA {
			return a, false
		}
		b, okB := p.value(e.Args[1])
		return over(a, okA, b, okB)
	case Pow:
		return p.raise(e.Args[0], e.Args[1])
	case Call:
		return p.call(e)
	}
	return ball{}, false
}

// rational is r, rounded to the precision of b.
func (b ball) rational(r *big.Rat) (ball, bool) {
	c := ball{re: b.float().SetRat(r), err: exactly}
	if c.re.Acc() != big.Exact {
		c.err = c.high() - b.bits()
	}
	return c, size(r) <= maxBits
}

// bitsPerStep is the work of exact arithmetic that takes as long as an operation on 64
// bits of a float with its error.
const bitsPerStep = 5

// termSteps is the work of a term of a sum, besides the work of its parts.
const termSteps = 40

// circle is the number π.
func (b ball) circle() ball {
	return ball{re: circle.to(b.re.Prec()), err: 2 - b.bits()}
}

// exact is e if that is a rational number.
func (p point) exact(e *Expr) (*big.Rat, bool) {
	if e.Op == Number {
		return e.Num, true
	}
	x := newFormer(p.complex)
	r, ok := x.rational(e)
	*p.work -= float64(maxWork-x.work) / bitsPerStep
	return r, ok
}

func (p point) fold(e *Expr) (ball, bool) {
	var total ball
	for i, arg := range e.Args {
		b, ok := p.value(arg)
		switch {
		case !ok:
			return b, false
		case i == 0:
			total = b
			continue
		case e.Op == Add:
			total, ok = total.add(b)
		default:
			total, ok = total.mul(b)
		}
		if !ok {
			return total, false
		}
	}
	return total, true
}

// raise is base to the power of exponent. A negative number to the power of a
// fraction with an odd denominator is real, as it is in school.
func (p point) raise(base, exponent *Expr) (ball, bool) {
	a, ok := p.value(base)
	if !ok {
		return a, false
	}
	if base.Op == Euler {
		b, ok := p.value(exponent)
		if !ok {
			return b, false
		}
		return exp(b)
	}
	if r, ok := p.exact(exponent); ok {
		if !p.complex && a.im == nil && a.re.Sign() < 0 && r.Denom().Bit(0) == 1 && r.Num().IsInt64() && !r.IsInt() {
			if a, ok = root(a, new(big.Rat).SetInt(r.Denom()), true); !ok {
				return a, false
			}
			r = new(big.Rat).SetInt(r.Num())
		}
		b, ok := a.rational(r)
		if !ok {
			return b, false
		}
		return power(a, b)
	}
	b, ok := p.value(exponent)
	if !ok {
		return b, false
	}
	return power(a, b)
}

func (p point) call(e *Expr) (ball, bool) {
	if isSum(e) {
		*p.work -= termSteps
	}
	if other := defined(e); other != nil {
		return p.value(other)
	}
	switch e.Name {
	case "factorial", "doublefactorial", "binom", "gcd", "lcm":
		one := ball{re: newFloat(p.prec + guard)}
		if r, ok := p.exact(e); ok {
			return one.rational(r)
		}
		return one, false
	}
	if isSum(e) || len(e.Args) == 0 || len(e.Args) > 2 {
		return ball{}, false
	}
	a, ok := p.value(e.Args[0])
	switch {
	case !ok:
		return a, false
	case len(e.Args) == 2 && e.Name == "root":
		return p.root(a, e.Args[1])
	case len(e.Args) == 2:
		return a, false
	case e.Name == "floor":
		return p.floor(e.Args[0], a)
	}
	if p.height != nil && a.high() > 0 { // 1/x is in arctan x
		*p.height += 2 * a.high()
	}
	return unary(e.Name, a)
}

// floor is the greatest integer that is no more than a real number: where it is not
// clear which, it must be exact.
func (p point) floor(e *Expr, b ball) (ball, bool) {
	if b.im != nil || size2(b.re) > float64(p.prec) {
		return ball{}, false
	}
	n, _ := b.re.Int(nil)
	if b.re.Sign() < 0 && !b.re.IsInt() {
		n.Sub(n, big.NewInt(1))
	}
	below := b.float().Sub(b.re, b.float().SetInt(n))
	above := b.float().Sub(b.float().SetInt(n.Add(n, big.NewInt(1))), b.re)
	n.Sub(n, big.NewInt(1))
	if b.err > exactly && (size2(below)-1 <= b.err+1 || size2(above)-1 <= b.err+1) {
		r, ok := p.exact(e)
		if !ok {
			return ball{}, false
		}
		n = floor(r)
	}
	return b.rational(new(big.Rat).SetInt(n))
}

func (p point) root(a ball, degree *Expr) (ball, bool) {
	if n, ok := p.exact(degree); ok {
		return root(a, n, !p.complex)
	}
	b, ok := p.value(degree)
	if !ok {
		return b, false
	}
	inverse, ok := b.inverse()
	if !ok {
		return b, false
	}
	return power(a, inverse)
}

func unary(name string, b ball) (ball, bool) {
	switch name {
	case "sqrt":
		return b.sqrt()
	case "ln":
		return ln(b)
	case "abs":
		return b.size()
	case "sin":
		return sine(b)
	case "cos":
		return cosine(b)
	case "arcsin":
		c, ok := other(b)
		return arc(c, b, ok)
	case "arctan":
		return arc(b.whole(1), b, true)
	case "conjugate":
		if b.im != nil {
			b.im = b.float().Neg(b.im)
		}
		return b, true
	case "re":
		return ball{re: b.re, err: b.err}, true
	case "im":
		return ball{re: b.imaginary(), err: b.err}, true
	}
	return ball{}, false
}
