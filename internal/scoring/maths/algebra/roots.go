package algebra

import (
	"math"
	"math/big"
	"slices"
)

// Root is a real zero of a polynomial, at which its sign changes if it is odd.
type Root struct {
	At  *Expr
	Odd bool
}

// Roots are the real zeros in ascending order of a polynomial with the given
// coefficients, the constant one first, which are constants: if there are at most two
// beside rational ones.
func Roots(c []*Expr) ([]Root, bool) {
	switch len(c) {
	case 0, 1:
		return nil, false
	case 2:
		return []Root{{simplest(Make(Div, Make(Neg, c[0]), c[1])), true}}, true
	case 3:
		return quadratic(c)
	}
	p := make([]*big.Rat, len(c))
	f := make([]float64, len(c))
	for i, e := range c {
		var ok bool
		if p[i], ok = Exact(e); !ok {
			return nil, false
		}
		f[i], _ = p[i].Float64()
	}
	var roots []Root
	for _, zero := range realZeros(f) {
		at, times := coarse(zero), 0
		for len(p) > 1 {
			quotient, rest := divide(p, at)
			if rest.Sign() != 0 {
				break
			}
			p, times = quotient, times+1
		}
		if times > 0 {
			roots = append(roots, Root{Rational(at), times%2 == 1})
		}
	}
	if len(p) > 3 {
		return nil, false
	}
	if len(p) > 1 {
		rest := make([]*Expr, len(p))
		for i, r := range p {
			rest[i] = Rational(r)
		}
		more, ok := Roots(rest)
		if !ok {
			return nil, false
		}
		roots = append(roots, more...)
	}
	ordered := true
	slices.SortFunc(roots, func(a, b Root) int {
		sign, ok := Sign(Make(Add, a.At, Make(Neg, b.At)))
		ordered = ordered && ok
		return sign
	})
	return roots, ordered
}

// divide divides a polynomial by x − at.
func divide(p []*big.Rat, at *big.Rat) (quotient []*big.Rat, rest *big.Rat) {
	quotient, rest = make([]*big.Rat, len(p)-1), new(big.Rat)
	for i := len(p) - 1; i >= 0; i-- {
		rest = new(big.Rat).Add(new(big.Rat).Mul(rest, at), p[i])
		if i > 0 {
			quotient[i-1] = rest
		}
	}
	return quotient, rest
}

func quadratic(c []*Expr) ([]Root, bool) {
	lead, ok := Sign(c[2])
	product := Make(Mul, Int(4), c[2], c[0])
	discriminant := simplest(Make(Add, Make(Mul, c[1], c[1]), Make(Neg, product)))
	sign, okay := Sign(discriminant)
	if !ok || !okay || lead == 0 {
		return nil, false
	}
	at := func(sign int) *Expr {
		d := Make(Mul, Int(int64(sign)), Apply("sqrt", discriminant))
		return simplest(Make(Div, Make(Add, Make(Neg, c[1]), d), Make(Mul, Int(2), c[2])))
	}
	switch {
	case sign < 0:
		return nil, true
	case sign == 0:
		return []Root{{at(1), false}}, true
	}
	return []Root{{at(-lead), true}, {at(lead), true}}, true
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

// coarse is a fraction near f that is written with few digits.
func coarse(f float64) *big.Rat {
	for _, d := range []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12} {
		if n := math.Round(f * d); math.Abs(f*d-n) < 1e-9*max(1, math.Abs(n)) && math.Abs(n) < 1<<52 && (n != 0 || f == 0) {
			return big.NewRat(int64(n), int64(d))
		}
	}
	mantissa, exp := math.Frexp(f)
	r := new(big.Rat).SetFloat64(math.Ldexp(math.Round(mantissa*(1<<30)), exp-30))
	if r == nil {
		return new(big.Rat)
	}
	return r
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
