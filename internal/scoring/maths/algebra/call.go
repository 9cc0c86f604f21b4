package algebra

import "math/big"

// call is the form of a function: a number where that is exact, else an atom.
func (x *former) call(e *Expr) (form, bool) {
	if isSum(e) {
		return x.several(e)
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
	if len(args) == 0 || len(args) > 2 {
		return form{}, false
	}
	half := frac{1, 2}
	switch {
	case e.Name == "sqrt" && len(args) == 1:
		return x.constantPower(args[0], half, e.Args[0])
	case e.Name == "root" && len(args) == 2:
		if r := args[1].value; r != nil && r.Sign() != 0 {
			if q, ok := small(new(big.Rat).Inv(r)); ok {
				return x.constantPower(args[0], q, e.Args[0])
			}
		}
		return form{}, false
	case e.Name == "exp" && len(args) == 1:
		return x.form(Make(Pow, Make(Euler), e.Args[0]))
	case e.Name == "ln" && len(args) == 1:
		return x.logarithm(args[0], e)
	case e.Name == "log":
		base := Int(10)
		if len(args) == 2 {
			base = e.Args[1]
		}
		return x.form(Make(Div, Apply("ln", e.Args[0]), Apply("ln", base)))
	case e.Name == "degrees" && len(args) == 1:
		return x.form(Make(Div, Make(Mul, e.Args[0], Make(Pi)), Int(180)))
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
	case "gcd", "lcm", "max", "min":
		if len(args) == 1 {
			return a, true
		}
		return pair(name, a, args[1]), true
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
	case "ceil":
		return new(big.Rat).Neg(new(big.Rat).SetInt(floor(new(big.Rat).Neg(a)))), true
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

// pair is a function of two rational numbers.
func pair(name string, a, b *big.Rat) *big.Rat {
	if name == "max" && a.Cmp(b) >= 0 || name == "min" && a.Cmp(b) <= 0 {
		return a
	}
	if name == "max" || name == "min" {
		return b
	}
	if !a.IsInt() || !b.IsInt() || a.Sign() == 0 || b.Sign() == 0 {
		return nil
	}
	m, n := new(big.Int).Abs(a.Num()), new(big.Int).Abs(b.Num())
	divisor := new(big.Int).GCD(nil, nil, m, n)
	if name == "gcd" {
		return new(big.Rat).SetInt(divisor)
	}
	return new(big.Rat).SetInt(m.Mul(m, n.Quo(n, divisor)))
}

// Bounds of sums and products of several terms.
const (
	maxSummed = 10000 // terms of one that is written as a form
	nodeCost  = 16    // bits that a node of a term is worth
)

// Sum is the sum of body for whole numbers k between from and to, or their
// product.
func Sum(product bool, body *Expr, k string, from, to *Expr) *Expr {
	name := "sum"
	if product {
		name = "prod"
	}
	return Apply(name, body, Var(k), from, to)
}

func isSum(e *Expr) bool {
	return e.Op == Call && (e.Name == "sum" || e.Name == "prod") && len(e.Args) == 4 && e.Args[1].Op == Symbol
}

// HasSum reports whether e has a sum or a product of several terms in it, which
// takes much longer to compare than its size says.
func (e *Expr) HasSum() bool { return e.Any(isSum) }

// several adds or multiplies the terms of a sum one by one.
func (x *former) several(e *Expr) (form, bool) {
	first, last, ok := x.limits(e)
	total := form{value: new(big.Rat)}
	if e.Name == "prod" {
		total.value = one
	}
	cost := nodeCost * e.Args[0].Size(maxNodes)
	for k := first; ok && k <= last; k++ {
		if !x.spend(cost) {
			return total, false
		}
		x.bound = append(x.bound, binding{e.Args[1].Name, big.NewRat(k, 1)})
		term, found := x.form(e.Args[0])
		x.bound = x.bound[:len(x.bound)-1]
		switch {
		case !found:
			return term, false
		case e.Name == "sum":
			total, ok = x.sum(total, term, 1)
		default:
			total, ok = x.product(total, term)
		}
	}
	return total, ok
}

// limits are the first and the last term of a sum that has terms, and not too many.
func (x *former) limits(e *Expr) (first, last int64, ok bool) {
	from, okFrom := x.rational(e.Args[2])
	to, okTo := x.rational(e.Args[3])
	if !okFrom || !okTo || !from.IsInt() || !to.IsInt() || !from.Num().IsInt64() || !to.Num().IsInt64() {
		return 0, 0, false
	}
	first, last = from.Num().Int64(), to.Num().Int64()
	return first, last, first <= last && last-first >= 0 && last-first < maxSummed
}
