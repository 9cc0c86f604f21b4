package algebra

import (
	"math"
	"math/big"
	"slices"
)

// Zeros are the real zeros of e as a polynomial in a variable of a degree from 1 up to the
// given one: exact if it is linear, else near enough to tell them apart. It is false for
// what is no such polynomial or has other variables.
func Zeros(e *Expr, name string, degree int) (zeros []*Expr, exact, ok bool) {
	c, ok := Coefficients(e, name, degree)
	f := make([]float64, len(c))
	for i, coefficient := range c {
		near, known := Float(coefficient)
		f[i], ok = near, ok && known
	}
	switch {
	case !ok || len(c) < 2:
		return nil, false, false
	case len(c) == 2:
		return []*Expr{simplest(Make(Div, Make(Neg, c[0]), c[1]))}, true, true
	}
	for _, x := range realZeros(f) {
		y, terms := 0.0, 0.0
		for k, a := range f {
			y, terms = y+a*math.Pow(x, float64(k)), terms+math.Abs(a)*math.Pow(max(1, math.Abs(x)), float64(k))
		}
		if r := new(big.Rat).SetFloat64(x); r != nil && math.Abs(y) <= 1e-9*terms { // a curve may only come near the axis
			zeros = append(zeros, Rational(r))
		}
	}
	return zeros, false, true
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

// realZeros are the real zeros of a polynomial, which are between the extrema.
func realZeros(c []float64) []float64 {
	for len(c) > 1 && c[len(c)-1] == 0 {
		c = c[:len(c)-1]
	}
	n := len(c) - 1
	if n < 1 {
		return nil
	}
	if n == 1 {
		return []float64{-c[0] / c[1]}
	}
	value := func(x float64) float64 {
		y := 0.0
		for k := n; k >= 0; k-- {
			y = y*x + c[k]
		}
		return y
	}
	derivative := make([]float64, n)
	bound := 1.0
	for k := 1; k <= n; k++ {
		derivative[k-1] = float64(k) * c[k]
		bound = max(bound, 1+math.Abs(c[k-1]/c[n]))
	}
	var zeros []float64
	ends := append(append([]float64{-bound}, realZeros(derivative)...), bound)
	for i, high := range ends[1:] {
		low := ends[i]
		rises := value(low) <= 0
		if (value(high) > 0) == rises || value(high) == 0 {
			a, b := low, high
			for range 200 {
				if middle := (a + b) / 2; (value(middle) <= 0) == rises {
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
	slices.Sort(zeros)
	return zeros
}
