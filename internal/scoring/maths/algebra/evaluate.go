package algebra

import "math/big"

// point gives the variables of an expression values.
type point struct {
	index   int       // which point it is
	integer bool      // the variables are whole numbers
	complex bool      // roots and powers are principal values, not real ones
	real    bool      // there are no other numbers: roots of negative numbers are undefined
	bound   []binding // the variables of the sums around
	nodes   *int      // of the terms of sums that may yet be evaluated
}

// value is e at the point. It is false where e is not defined or too large.
func (p point) value(e *Expr) (ball, bool) {
	b, ok := p.principal(e)
	return b, ok && (b.im == nil || !p.real)
}

// principal is the value of e whether or not it is real.
func (p point) principal(e *Expr) (ball, bool) {
	switch e.Op {
	case Number:
		return rational(e.Num), size(e.Num) < maxBits
	case Symbol:
		if n, ok := find(p.bound, e.Name); ok {
			return whole(n), true
		}
		return p.variable(e.Name), true
	case Pi:
		return circle(), true
	case Euler:
		return exp(whole(1))
	case Imaginary:
		return ball{re: newFloat(), im: newFloat().SetInt64(1), err: exactly}, true
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
		b, okB := p.value(e.Args[1])
		return over(a, okA, b, okB)
	case Pow:
		return p.raise(e.Args[0], e.Args[1])
	case Call:
		return p.call(e)
	}
	return ball{}, false
}

// circle is the number π.
func circle() ball { return ball{re: newFloat().Set(pi()), err: 2 - working} }

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
	if !p.complex && a.im == nil && a.re.Sign() < 0 {
		if r, exact := Exact(exponent); exact && !r.IsInt() && r.Denom().Bit(0) == 1 && r.Num().IsInt64() {
			b, ok := root(a, new(big.Rat).SetInt(r.Denom()), true)
			if !ok {
				return b, false
			}
			return power(b, rational(new(big.Rat).SetInt(r.Num())))
		}
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
	if len(e.Args) == 2 {
		return p.binary(e, args[0], args[1])
	}
	if e.Name == "log" { // without a base, it is to base ten
		x, ok := ln(args[0])
		base, _ := ln(whole(10))
		return over(x, ok, base, true)
	}
	return unary(e.Name, args[0])
}

func (p point) binary(e *Expr, a, b ball) (ball, bool) {
	switch e.Name {
	case "log":
		x, okX := ln(a)
		base, okBase := ln(b)
		return over(x, okX, base, okBase)
	case "root":
		if n, ok := Exact(e.Args[1]); ok {
			return root(a, n, !p.complex)
		}
		inverse, ok := b.inverse()
		if !ok {
			return b, false
		}
		return power(a, inverse)
	case "binom":
		n, okN := a.integer()
		k, okK := b.integer()
		if okN && okK && n >= 0 && k >= 0 && n <= maxFactorial && k <= maxFactorial {
			return rational(new(big.Rat).SetInt(new(big.Int).Binomial(n, k))), true
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
		radians, ok := over(circle(), true, whole(180), true)
		if !ok {
			return radians, false
		}
		return radians.mul(b)
	case "factorial":
		if n, ok := b.integer(); ok && n >= 0 && n <= maxFactorial {
			return rational(new(big.Rat).SetInt(new(big.Int).MulRange(1, n))), true
		}
	case "floor":
		return nearest(b)
	case "ceil":
		n, ok := nearest(b.neg())
		if !ok {
			return n, false
		}
		return n.neg(), true
	case "conjugate":
		if b.im != nil {
			b.im = newFloat().Neg(b.im)
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
		return arc(whole(1), b, true)
	case "arccot":
		return arc(b, whole(1), true)
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
		return over(whole(1), true, c, okC)
	case "csc", "csch":
		return over(whole(1), true, s, okS)
	}
	return ball{}, false
}
