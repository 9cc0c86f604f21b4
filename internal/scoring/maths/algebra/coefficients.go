package algebra

import "math/big"

// expression writes a term as an expression again.
func (x *former) expression(t term) *Expr {
	e := Rational(t.coef)
	for i, f := range t.factors {
		atom := x.atoms[f.atom]
		if f.atom[0] == prime {
			p, _ := new(big.Int).SetString(f.atom[1:], 10)
			atom = Rational(new(big.Rat).SetInt(p))
		}
		if f.exp != whole(1) {
			atom = Make(Pow, atom, Rational(big.NewRat(f.exp.n, f.exp.d)))
		}
		if i == 0 && t.coef.Cmp(one) == 0 {
			e = atom
		} else {
			e = Make(Mul, e, atom)
		}
	}
	return e
}

// Coefficients returns the coefficients of e as a polynomial in a variable, the constant one
// first, up to the given degree at most.
func Coefficients(e *Expr, name string, degree int) ([]*Expr, bool) {
	x := newFormer(false)
	f, ok := x.form(e)
	if !ok || f.den != nil {
		return nil, false
	}
	sums := make([][]*Expr, degree+1)
	highest := 0
	for _, t := range f.numerator() {
		rest, n := term{coef: t.coef}, 0
		for _, g := range t.factors {
			switch {
			case g.atom == string(rune(variable))+name:
				if n = int(g.exp.n); g.exp.d != 1 || n < 0 || n > degree {
					return nil, false
				}
			case x.atoms[g.atom] != nil && x.atoms[g.atom].Any(func(e *Expr) bool { return e.Op == Symbol && e.Name == name }):
				return nil, false
			default:
				rest.factors = append(rest.factors, g)
			}
		}
		sums[n] = append(sums[n], x.expression(rest))
		highest = max(highest, n)
	}
	coefficients := make([]*Expr, highest+1)
	for n := range coefficients {
		switch len(sums[n]) {
		case 0:
			coefficients[n] = Int(0)
		case 1:
			coefficients[n] = sums[n][0]
		default:
			coefficients[n] = Make(Add, sums[n]...)
		}
	}
	return coefficients, true
}
