package algebra

import (
	"math/big"
	"slices"
)

// Zeros are the real zeros of e as a polynomial in a variable, of the first degree or, if the given
// one is 2, of the second. It is false for every other polynomial, and one with other variables.
func Zeros(e *Expr, name string, degree int) (zeros []*Expr, ok bool) {
	c, ok := Coefficients(e, name, degree)
	if !ok || len(c) < 2 || slices.ContainsFunc(c, func(e *Expr) bool { return !constant(e).defined() }) {
		return nil, false
	}
	negative := Make(Neg, c[len(c)-2])
	if len(c) == 2 {
		return []*Expr{Simplest(Make(Div, negative, c[1]))}, true
	}
	below := Make(Mul, Int(2), c[2])
	discriminant := Simplest(minus(Make(Pow, c[1], Int(2)), Make(Mul, Int(4), c[0], c[2])))
	switch sign, known := Sign(discriminant); {
	case sign < 0 || !known:
		return nil, known
	case sign == 0:
		return []*Expr{Simplest(Make(Div, negative, below))}, true
	}
	root := Apply("sqrt", discriminant)
	return []*Expr{Simplest(Make(Div, minus(negative, root), below)), Simplest(Make(Div, Make(Add, negative, root), below))}, true
}

// Simplest is a number that is rational as a node, and else the expression itself.
func Simplest(e *Expr) *Expr {
	if r, ok := Exact(e); ok {
		return Rational(r)
	}
	return e
}

// Coefficients returns the coefficients of e as a polynomial in a variable, the constant one
// first, up to the given degree at most.
func Coefficients(e *Expr, name string, degree int) ([]*Expr, bool) {
	c, ok := polynomial(e, name, degree)
	for len(c) > 1 && Equal(c[len(c)-1], Int(0)) {
		c = c[:len(c)-1]
	}
	return c, ok && len(c) <= degree+1
}

// polynomial is e by powers of a variable. Terms that cancel may have a higher degree.
func polynomial(e *Expr, name string, degree int) (c []*Expr, ok bool) {
	switch {
	case e.Op == Symbol && e.Name == name:
		return []*Expr{Int(0), Int(1)}, true
	case !e.has(name):
		return []*Expr{Simplest(e)}, true
	case e.Op == Pow:
		n, exact := Exact(e.Args[1])
		if !exact || !n.IsInt() || n.Sign() <= 0 || n.Cmp(big.NewRat(int64(2*degree), 1)) > 0 {
			return nil, false
		}
		return polynomial(Make(Mul, slices.Repeat(e.Args[:1], int(n.Num().Int64()))...), name, degree)
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
					scaled[j] = Simplest(Make(Mul, f, g))
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
		c[k+power] = Simplest(Make(Add, c[k+power], f))
	}
	return c
}
