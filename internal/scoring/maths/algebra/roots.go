package algebra

import (
	"math/big"
	"slices"
)

// Zeros are the real zeros of e as a polynomial in a variable of a degree from 1 up to the
// given one: exact if it is linear, else near enough to tell them apart. It is false for
// what is no such polynomial or has other variables.
func Zeros(e *Expr, name string, degree int) (zeros []*Expr, exact, ok bool) {
	c, ok := Coefficients(e, name, degree)
	f := make([]*big.Float, len(c))
	for i, coefficient := range c {
		n, known := constant(coefficient)
		if f[i] = floating(n); !known || f[i] == nil {
			ok = false
		}
	}
	switch {
	case !ok || len(c) < 2:
		return nil, false, false
	case len(c) == 2:
		return []*Expr{simplest(Make(Div, Make(Neg, c[0]), c[1]))}, true, true
	}
	for _, x := range realZeros(f) {
		y, terms, size := real(0), real(0), real(0).Abs(x)
		if size.Cmp(real(1)) < 0 {
			size = real(1)
		}
		for _, a := range slices.Backward(f) {
			y.Add(y.Mul(y, x), a)
			terms.Add(terms.Mul(terms, size), real(0).Abs(a))
		}
		if terms.Mul(terms, real(0x1p-100)); y.Abs(y).Cmp(terms) <= 0 { // a curve may only come near the axis
			near, _ := x.Float64()
			zeros = append(zeros, Rational(new(big.Rat).SetFloat64(near)))
		}
	}
	return zeros, false, true
}

// Fraction is e as one quotient: sums have a common denominator, and neither part divides
// by a variable. What would become too large stays as it is.
func Fraction(e *Expr) (above, below *Expr) {
	above, below = fraction(e)
	if above.Size(maxNodes) >= maxNodes || below.Size(maxNodes) >= maxNodes {
		return e, Int(1)
	}
	return above, below
}

func fraction(e *Expr) (above, below *Expr) {
	if !e.Any(func(e *Expr) bool { return e.Op == Div || e.Op == Pow }) || !e.Any(isSymbol) {
		return e, Int(1)
	}
	switch e.Op {
	case Neg:
		above, below = Fraction(e.Args[0])
		return Make(Neg, above), below
	case Div:
		a, b := Fraction(e.Args[0])
		c, d := Fraction(e.Args[1])
		return Make(Mul, a, d), Make(Mul, b, c)
	case Pow:
		n, ok := Exact(e.Args[1])
		if !ok || !n.IsInt() {
			break
		}
		above, below = Fraction(e.Args[0])
		if n.Sign() < 0 {
			above, below, n = below, above, new(big.Rat).Neg(n)
		}
		return Make(Pow, above, Rational(n)), Make(Pow, below, Rational(n))
	case Add, Mul:
		above, below = Fraction(e.Args[0])
		for _, arg := range e.Args[1:] {
			a, b := Fraction(arg)
			switch {
			case e.Op == Mul:
				above, below = Make(Mul, above, a), Make(Mul, below, b)
			case Same(below, b):
				above = Make(Add, above, a)
			default:
				above, below = Make(Add, Make(Mul, above, b), Make(Mul, a, below)), Make(Mul, below, b)
			}
		}
		return above, below
	}
	return e, Int(1)
}

// simplest is a rational number as one.
func simplest(e *Expr) *Expr {
	if r, ok := Exact(e); ok {
		return Rational(r)
	}
	return e
}

// Coefficients returns the coefficients of e as a polynomial in a variable, the constant one
// first, up to the given degree at most.
func Coefficients(e *Expr, name string, degree int) ([]*Expr, bool) {
	c, ok := polynomial(e, name, degree)
	for len(c) > 1 && Equal(c[len(c)-1], Int(0), nil) {
		c = c[:len(c)-1]
	}
	return c, ok && len(c) <= degree+1
}

// polynomial is e by powers of a variable. Terms that cancel may have a higher degree.
func polynomial(e *Expr, name string, degree int) (c []*Expr, ok bool) {
	switch {
	case e.Op == Symbol && e.Name == name:
		return []*Expr{Int(0), Int(1)}, true
	case !e.Any(func(e *Expr) bool { return e.Op == Symbol && e.Name == name }):
		return []*Expr{simplest(e)}, true
	case e.Op == Pow:
		n, exact := Exact(e.Args[1])
		if !exact || !n.IsInt() || n.Sign() <= 0 || n.Cmp(big.NewRat(int64(2*degree), 1)) > 0 {
			return nil, false
		}
		factors := make([]*Expr, n.Num().Int64())
		for i := range factors {
			factors[i] = e.Args[0]
		}
		return polynomial(Make(Mul, factors...), name, degree)
	case e.Op == Div:
		return polynomial(Make(Mul, Make(Pow, e.Args[1], Int(-1)), e.Args[0]), name, degree)
	case e.Op == Neg:
		return polynomial(Make(Mul, Int(-1), e.Args[0]), name, degree)
	case e.Op != Add && e.Op != Mul:
		return nil, false
	}
	for i, arg := range e.Args {
		d, ok := polynomial(arg, name, degree)
		if !ok || len(c)+len(d) > 2*degree+3 {
			return nil, false
		}
		switch {
		case i == 0:
			c = d
		case e.Op == Add:
			c = sums(c, d, 0)
		default:
			var product []*Expr
			for k, f := range d {
				scaled := make([]*Expr, len(c))
				for j, g := range c {
					scaled[j] = simplest(Make(Mul, f, g))
				}
				product = sums(product, scaled, k)
			}
			c = product
		}
	}
	return c, true
}

// sums is the sum of a polynomial and of another one times a power of the variable.
func sums(c, d []*Expr, power int) []*Expr {
	c = slices.Clone(c)
	for k, f := range d {
		for len(c) <= k+power {
			c = append(c, Int(0))
		}
		c[k+power] = simplest(Make(Add, c[k+power], f))
	}
	return c
}

// real is a number of 320 bits, more than are known of numbers that are not rational: a zero
// of order 8 of a polynomial is known to an eighth of them.
func real(f float64) *big.Float { return new(big.Float).SetPrec(320).SetFloat64(f) }

// floating is a real number with the precision of real, nil without a value.
func floating(n number) *big.Float {
	switch {
	case n.rat != nil:
		return real(0).SetRat(n.rat)
	case n.re != nil:
		return real(0).Set(n.re)
	}
	return nil
}

// realZeros are the real zeros of a polynomial, which are between the extrema. One where the
// curve touches the axis is there several times, but for noise.
func realZeros(c []*big.Float) []*big.Float {
	n := len(c) - 1
	if n < 1 {
		return nil
	}
	value := func(x *big.Float) *big.Float {
		y := real(0)
		for k := n; k >= 0; k-- {
			y.Add(y.Mul(y, x), c[k])
		}
		return y
	}
	derivative := make([]*big.Float, n)
	bound := real(1)
	for k := 1; k <= n; k++ {
		derivative[k-1] = real(0).Mul(real(float64(k)), c[k])
		other := real(0).Quo(c[k-1], c[n])
		if other.Add(other.Abs(other), real(1)); other.Cmp(bound) > 0 {
			bound = other
		}
	}
	var zeros []*big.Float
	ends := append(append([]*big.Float{real(0).Neg(bound)}, realZeros(derivative)...), bound)
	for i, high := range ends[1:] {
		low := ends[i]
		if rises := value(low).Sign() <= 0; value(high).Sign() > 0 == rises {
			a, b := low, high
			for range 320 {
				middle := real(0).Add(a, b)
				if middle.Quo(middle, real(2)); value(middle).Sign() <= 0 == rises {
					a = middle
				} else {
					b = middle
				}
			}
			zeros = append(zeros, a)
		} else if i+1 < len(ends)-1 {
			zeros = append(zeros, high) // where a curve may touch the axis
		}
	}
	slices.SortFunc(zeros, func(x, y *big.Float) int { return x.Cmp(y) })
	return zeros
}
