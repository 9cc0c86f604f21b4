package algebra

import (
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
