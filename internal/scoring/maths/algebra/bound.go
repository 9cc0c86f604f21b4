package algebra

import (
	"math"
	"math/big"
)

// separation bounds algebraic numbers other than zero from below, after Burnikel, Funke,
// Mehlhorn, Schirra and Schmitt, "A separation bound for real algebraic expressions"
// (2001): each is U/L with algebraic integers U and L whose conjugates are at most 2^u
// and 2^l; if its degree is at most D, it is at least 2^-(l + (D−1)u).
type separation struct {
	degree  float64
	roots   []*Expr         // whose degrees are in it
	circles map[string]bool // the roots of unity whose degrees are in it, by their order
	complex bool
}

// separated is the number of bits b such that e, if it is not zero, is at least 2^-b;
// false if it is not known to be algebraic.
func separated(e *Expr, complex bool) (bits float64, ok bool) {
	s := separation{degree: 1, circles: map[string]bool{}, complex: complex}
	u, l, ok := s.of(e)
	return l + (s.degree-1)*u, ok
}

func (s *separation) of(e *Expr) (u, l float64, ok bool) {
	switch e.Op {
	case Number:
		return float64(e.Num.Num().BitLen()), float64(e.Num.Denom().BitLen()), true
	case Imaginary:
		s.extend(e, 2)
		return 0, 0, true
	case Neg:
		return s.of(e.Args[0])
	case Add, Mul:
		u, l, ok = s.of(e.Args[0])
		for _, arg := range e.Args[1:] {
			v, m, found := s.of(arg)
			if !ok || !found {
				return 0, 0, false
			}
			if e.Op == Mul {
				u, l = u+v, l+m
			} else {
				u, l = max(u+m, v+l)+1, l+m
			}
		}
		return u, l, ok
	case Div:
		u, l, ok = s.of(e.Args[0])
		v, m, found := s.of(e.Args[1])
		return u + m, l + v, ok && found
	case Pow:
		r, ok := Exact(e.Args[1])
		n, fits := frac{}, false
		if ok {
			n, fits = small(r)
		}
		if u, l, ok = s.of(e.Args[0]); !ok || !fits {
			return 0, 0, false
		}
		if n.n < 0 {
			u, l = l, u
		}
		m := math.Abs(float64(n.n))
		return s.root(e, u*m, l*m, float64(n.d))
	case Call:
		return s.call(e)
	}
	return 0, 0, false
}

func (s *separation) call(e *Expr) (u, l float64, ok bool) {
	if other := defined(e); other != nil && !isSum(e) {
		return s.of(other)
	}
	switch {
	case e.Name == "sqrt" || e.Name == "abs":
		if u, l, ok = s.of(e.Args[0]); e.Name == "abs" {
			u, l = 2*u, 2*l
		}
		if !ok {
			return 0, 0, false
		}
		return s.root(e, u, l, 2)
	case e.Name == "root":
		n, exact := Exact(e.Args[1])
		if u, l, ok = s.of(e.Args[0]); !ok || !exact || !n.IsInt() || n.Sign() <= 0 {
			return 0, 0, false
		}
		k, _ := n.Float64()
		return s.root(e, u, l, k)
	case e.Name == "sin" || e.Name == "cos":
		turns, ok := Exact(Make(Div, e.Args[0], Make(Pi)))
		if !ok || !turns.Denom().IsInt64() {
			return 0, 0, false
		}
		s.extend(Make(Imaginary), 2)
		if order := turns.Denom().String(); !s.circles[order] {
			s.circles[order] = true
			f, _ := new(big.Float).SetInt(turns.Denom()).Float64()
			s.degree *= 2 * f
		}
		return 1, 1, true // (z − 1/z)/2i and the like, with |z| = 1
	}
	if isSum(e) {
		return 0, 0, false
	}
	r, ok := Exact(e) // ⌊x⌋, n!
	if !ok {
		return 0, 0, false
	}
	return s.of(Rational(r))
}

// root is the bound of the k-th root of a number with the bounds u and l.
func (s *separation) root(e *Expr, u, l, k float64) (float64, float64, bool) {
	if k == 1 {
		return u, l, true
	}
	s.extend(e, k)
	if u >= l {
		return (u + (k-1)*l) / k, l, true
	}
	return u, ((k-1)*u + l) / k, true
}

// extend counts the degree of a root once.
func (s *separation) extend(e *Expr, degree float64) {
	for _, root := range s.roots {
		if Same(root, e) {
			return
		}
	}
	s.roots = append(s.roots, e)
	s.degree *= degree
}
