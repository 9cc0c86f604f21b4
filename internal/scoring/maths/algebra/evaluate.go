package algebra

import "math/big"

// point gives the variables of an expression values, and says how precisely it is
// evaluated.
type point struct {
	prec    uint      // of results, in bits
	values  []binding // of the variables, those of the sums around last
	complex bool      // roots and powers are principal values, not real ones
	real    bool      // there are no other numbers: roots of negative numbers are undefined
	work    *float64  // in operations on 64 bits, that may yet be done
	height  *float64  // if not nil, the sum of the sizes of all values in bits: see enough
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
	case Symbol:
		if r, ok := find(p.values, e.Name); ok {
			return one.rational(r)
		}
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

// termSteps is the work of a term of a sum, beside that of its parts.
const termSteps = 40

// circle is the number π.
func (b ball) circle() ball {
	return ball{re: circle.to(b.re.Prec()), err: 2 - b.bits()}
}

// exact is e at the point if that is a rational number.
func (p point) exact(e *Expr) (*big.Rat, bool) {
	if e.Op == Number {
		return e.Num, true
	}
	x := newFormer(p.complex)
	x.bound = p.values
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
		return p.sum(e)
	}
	var args [2]ball
	if len(e.Args) == 0 || len(e.Args) > 2 {
		return ball{}, false
	}
	for i, arg := range e.Args {
		b, ok := p.value(arg)
		if !ok {
			return b, false
		}
		args[i] = b
	}
	a := args[0]
	switch {
	case len(e.Args) == 2:
		return p.binary(e, a, args[1])
	case e.Name == "log": // without a base, it is to base ten
		x, ok := ln(a)
		base, _ := ln(a.whole(10))
		return over(x, ok, base, true)
	case e.Name == "floor":
		return p.floor(e.Args[0], a)
	case e.Name == "ceil":
		n, ok := p.floor(Make(Neg, e.Args[0]), a.neg())
		if !ok {
			return n, false
		}
		return n.neg(), true
	case e.Name == "factorial" || e.Name == "doublefactorial":
		if r, ok := p.exact(e); ok {
			return a.rational(r)
		}
		return ball{}, false
	}
	if p.height != nil && a.high() > 0 { // e to the x is in tanh x, and 1/x in arctan x
		*p.height += 2*min(1e6, a.high()) + hidden(e.Name, a)
	}
	return unary(e.Name, a)
}

// hidden is the size in bits of the exponentials of which a function is made.
func hidden(name string, a ball) float64 {
	switch name {
	case "sinh", "cosh", "tanh", "coth", "sech", "csch":
		f, _ := a.re.Float64()
		return 3 * max(f, -f)
	}
	return 0
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

func (p point) binary(e *Expr, a, b ball) (ball, bool) {
	switch e.Name {
	case "log":
		x, okX := ln(a)
		base, okBase := ln(b)
		return over(x, okX, base, okBase)
	case "root":
		if n, ok := p.exact(e.Args[1]); ok {
			return root(a, n, !p.complex)
		}
		inverse, ok := b.inverse()
		if !ok {
			return b, false
		}
		return power(a, inverse)
	case "max", "min":
		d, ok := a.add(b.neg())
		if !ok || d.im != nil || a.im != nil {
			return d, false
		}
		if (d.re.Sign() > 0) == (e.Name == "max") {
			b = a
		}
		if d.nought() { // they may be equal
			b.err = sumOf(b.err, d.err+2)
		}
		return b, true
	case "binom", "gcd", "lcm":
		if r, ok := p.exact(e); ok {
			return a.rational(r)
		}
	}
	return ball{}, false
}

func unary(name string, b ball) (ball, bool) {
	switch name {
	case "sqrt":
		return b.sqrt()
	case "exp":
		return exp(b)
	case "ln":
		return ln(b)
	case "abs":
		return b.size()
	case "degrees":
		radians, ok := over(b.circle(), true, b.whole(180), true)
		if !ok {
			return radians, false
		}
		return radians.mul(b)
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
	return trigonometric(name, b)
}

func trigonometric(name string, b ball) (ball, bool) {
	one := b.whole(1)
	switch name {
	case "sin":
		return sine(b)
	case "cos":
		return cosine(b)
	case "sinh":
		return hyperbolic(b, -1, false)
	case "cosh":
		return hyperbolic(b, 1, false)
	case "arcsin":
		c, ok := other(b)
		return arc(c, b, ok)
	case "arccos":
		s, ok := other(b)
		return arc(b, s, ok)
	case "arctan":
		return arc(one, b, true)
	case "arccot":
		return arc(b, one, true)
	}
	var s, c ball
	var okS, okC bool
	switch name {
	case "tan", "cot", "sec", "csc":
		s, okS = sine(b)
		c, okC = cosine(b)
	case "tanh", "coth", "sech", "csch":
		s, okS = hyperbolic(b, -1, false)
		c, okC = hyperbolic(b, 1, false)
	}
	switch name {
	case "tan", "tanh":
		return over(s, okS, c, okC)
	case "cot", "coth":
		return over(c, okC, s, okS)
	case "sec", "sech":
		return over(one, true, c, okC)
	case "csc", "csch":
		return over(one, true, s, okS)
	}
	return ball{}, false
}

// sum adds or multiplies the terms one by one.
func (p point) sum(e *Expr) (ball, bool) {
	x := newFormer(p.complex)
	x.bound = p.values
	first, last, ok := x.limits(e)
	total := ball{re: newFloat(p.prec + guard), err: exactly}
	if e.Name == "prod" {
		total.re.SetInt64(1)
	}
	for k := first; ok && k <= last; k++ {
		*p.work -= termSteps
		inner := p
		inner.values = append(p.values[:len(p.values):len(p.values)], binding{e.Args[1].Name, big.NewRat(k, 1)})
		term, found := inner.value(e.Args[0])
		switch {
		case !found:
			return term, false
		case e.Name == "sum":
			total, ok = total.add(term)
		default:
			total, ok = total.mul(term)
		}
	}
	return total, ok
}
