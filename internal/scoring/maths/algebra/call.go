package algebra

import "math/big"

// call is the form of a function: a number where that is exact, else an atom.
func (x *former) call(e *Expr) (form, bool) {
	if isSum(e) && !x.spend(nodeCost*e.Args[0].Size(maxNodes)) {
		return form{}, false
	}
	if other := defined(e); other != nil {
		return x.form(other)
	}
	if isSum(e) || len(e.Args) == 0 || len(e.Args) > 2 {
		return form{}, false
	}
	var args []form
	var values []*big.Rat
	for _, arg := range e.Args {
		f, ok := x.form(arg)
		if !ok {
			return f, false
		}
		args = append(args, f)
		if f.value != nil {
			values = append(values, f.value)
		}
	}
	switch {
	case e.Name == "sqrt" && len(args) == 1:
		return x.constantPower(args[0], frac{1, 2}, e.Args[0])
	case e.Name == "root" && len(args) == 2:
		if r := args[1].value; r != nil && r.Sign() != 0 {
			if q, ok := small(new(big.Rat).Inv(r)); ok {
				return x.constantPower(args[0], q, e.Args[0])
			}
		}
		return form{}, false
	case e.Name == "ln" && len(args) == 1:
		return x.logarithm(args[0], e)
	case len(values) < len(args):
		return x.opaque(e.Name, args, e), true
	}
	if r, known := x.function(e.Name, values); known {
		return form{value: r}, r != nil
	}
	return x.opaque(e.Name, args, e), true
}

// logarithm is the sum of the logarithms of prime factors, of e and of other atoms.
func (x *former) logarithm(f form, e *Expr) (form, bool) {
	t, ok := f.numerator().single()
	if !ok || f.den != nil || t.coef.Sign() <= 0 {
		return x.opaque("ln", []form{f}, e), len(f.numerator()) > 0
	}
	powers, ok := x.factorize(t.coef)
	sum := poly{}
	for _, g := range append(powers, t.factors...) {
		switch {
		case g.atom == string(rune(constant))+"e":
			if sum = x.add(sum, number(big.NewRat(g.exp.n, g.exp.d)), 1); sum == nil {
				return form{}, false
			}
		case !ok || g.atom[0] != prime:
			return x.opaque("ln", []form{f}, e), true
		default:
			atom := x.expression(term{coef: one, factors: []factor{{g.atom, whole(1)}}})
			l := x.opaque("ln", []form{{value: atom.Num}}, Apply("ln", atom))
			m, _ := l.num.single()
			m.coef = big.NewRat(g.exp.n, g.exp.d)
			sum.include(m)
		}
	}
	return x.quotient(sum, nil)
}

// function is the value of a function of rational numbers, nil if there is none. Known
// says whether there is one, or would be within bounds.
func (x *former) function(name string, args []*big.Rat) (value *big.Rat, known bool) {
	a := args[0]
	switch name {
	case "gcd", "lcm":
		return divisor(name, a, args[1]), true
	case "binom":
		if len(args) == 2 {
			n, ok := count(a)
			if k, okay := count(args[1]); ok && okay && x.spend(int(n*n)/100) {
				return new(big.Rat).SetInt(new(big.Int).Binomial(n, k)), true
			}
		}
		return nil, true
	}
	if len(args) != 1 {
		return nil, true
	}
	switch name {
	case "abs":
		return new(big.Rat).Abs(a), true
	case "floor":
		return new(big.Rat).SetInt(floor(a)), true
	case "conjugate", "re":
		return a, true
	case "im":
		return new(big.Rat), true
	case "factorial", "doublefactorial":
		n, ok := count(a)
		if !ok || !x.spend(int(n)*8) {
			return nil, true
		}
		if name == "factorial" {
			return new(big.Rat).SetInt(new(big.Int).MulRange(1, n)), true
		}
		product := big.NewInt(1)
		for ; n > 1; n -= 2 {
			product.Mul(product, big.NewInt(n))
		}
		return new(big.Rat).SetInt(product), true
	}
	return nil, false
}

// floor is the greatest integer that is no more than a.
func floor(a *big.Rat) *big.Int {
	return new(big.Int).Div(a.Num(), a.Denom()) // Euclidean, and the denominator is positive
}

// count is a as a whole number whose factorial is within bounds.
func count(a *big.Rat) (int64, bool) {
	if !a.IsInt() || !a.Num().IsInt64() {
		return 0, false
	}
	n := a.Num().Int64()
	return n, n >= 0 && n <= maxFactorial
}

// divisor is the greatest common divisor, or the least common multiple.
func divisor(name string, a, b *big.Rat) *big.Rat {
	if !a.IsInt() || !b.IsInt() || a.Sign() == 0 || b.Sign() == 0 {
		return nil
	}
	m, n := new(big.Int).Abs(a.Num()), new(big.Int).Abs(b.Num())
	d := new(big.Int).GCD(nil, nil, m, n)
	if name == "gcd" {
		return new(big.Rat).SetInt(d)
	}
	return new(big.Rat).SetInt(m.Mul(m, n.Quo(n, d)))
}
