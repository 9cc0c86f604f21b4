package algebra

import "math/big"

// Bounds of symbolic arithmetic. Beyond them an expression has no form.
const (
	maxBits      = 1 << 17 // of a numerator or denominator
	maxWork      = 1 << 19 // bits of all the intermediate results of an expression
	maxTerms     = 300     // of a polynomial
	termCost     = 300     // bits that the product of two terms is worth
	copyCost     = 50      // bits that a copy of a term is worth
	maxExpanded  = 5000    // the highest power of a sum that is multiplied out
	maxFactorial = 5000
	nodeCost     = 16 // bits that a node of a term of a sum is worth
)

// form is a rational number, or a quotient of polynomials: den is nil for 1, and has two
// terms or more.
type form struct {
	value    *big.Rat
	num, den poly
}

// numerator and denominator are polynomials even for a number.
func (f form) numerator() poly {
	if f.value != nil {
		return number(f.value)
	}
	return f.num
}

func (f form) denominator() poly {
	if f.den == nil {
		return number(one)
	}
	return f.den
}

var one = big.NewRat(1, 1)

// former writes expressions as forms until its work is used up. Expressions of the same
// form are equal where both are defined.
type former struct {
	work    int
	complex bool             // powers are principal values: no real roots of negative numbers
	atoms   map[string]*Expr // by their spelling
	unsure  bool             // there may be relations between atoms: other forms may be equal
	pi, e   bool             // met as an atom
}

func newFormer(complex bool) *former {
	return &former{work: maxWork, complex: complex}
}

// spend pays for work, in bits. It is false if that is too much.
func (x *former) spend(bits int) bool {
	x.work -= bits
	return x.work >= 0
}

// size is the length of r in bits.
func size(r *big.Rat) int { return r.Num().BitLen() + r.Denom().BitLen() }

// Exact is the value of e if it is a rational number that bounded arithmetic finds.
func Exact(e *Expr) (*big.Rat, bool) {
	switch {
	case e.Op == Number:
		return e.Num, true
	case len(e.Args) == 0:
		return nil, false
	}
	return newFormer(e.Any(isImaginary)).rational(e)
}

// rational is e as a rational number.
func (x *former) rational(e *Expr) (*big.Rat, bool) {
	if e.Op == Number {
		return e.Num, true
	}
	f, ok := x.form(e)
	return f.value, ok && f.value != nil
}

// form is e as a quotient of polynomials; false where e is undefined or out of bounds.
func (x *former) form(e *Expr) (form, bool) {
	switch e.Op {
	case Number:
		return form{value: e.Num}, size(e.Num) <= maxBits
	case Symbol:
		return x.atom(variable, e.Name, e), true
	case Pi:
		x.pi = true
		return x.atom(constant, "π", e), true
	case Euler:
		x.e = true
		return x.atom(constant, "e", e), true
	case Imaginary:
		return x.atom(unit, "", e), true
	case Neg:
		f, ok := x.form(e.Args[0])
		if !ok {
			return f, false
		}
		return x.sum(form{value: new(big.Rat)}, f, -1)
	case Add, Mul:
		return x.fold(e)
	case Div:
		a, ok := x.form(e.Args[0])
		if !ok {
			return a, false
		}
		b, ok := x.form(e.Args[1])
		if !ok {
			return b, false
		}
		return x.over(a, b)
	case Pow:
		return x.power(e)
	case Call:
		return x.call(e)
	}
	return form{}, false
}

// atom is an atom by itself.
func (x *former) atom(kind byte, spelling string, e *Expr) form {
	spelling = string(rune(kind)) + spelling
	x.spell(spelling, e)
	return form{num: poly{spelling + " ": {one, []factor{{spelling, whole(1)}}}}}
}

func (x *former) spell(atom string, e *Expr) {
	if x.atoms == nil {
		x.atoms = make(map[string]*Expr)
	}
	x.atoms[atom] = e
}

func (x *former) fold(e *Expr) (form, bool) {
	total, ok := x.form(e.Args[0])
	for _, arg := range e.Args[1:] {
		if !ok {
			return total, false
		}
		f, found := x.form(arg)
		if !found {
			return f, false
		}
		if e.Op == Add {
			total, ok = x.sum(total, f, 1)
		} else {
			total, ok = x.product(total, f)
		}
	}
	return total, ok
}

func (x *former) product(a, b form) (form, bool) {
	if a.value != nil && b.value != nil {
		if bits := size(a.value) + size(b.value); bits > maxBits || !x.spend(bits) {
			return a, false
		}
		return form{value: new(big.Rat).Mul(a.value, b.value)}, true
	}
	return x.quotient(x.multiply(a.numerator(), b.numerator()), x.denominators(a, b))
}

// denominators is the product of two denominators, nil for 1.
func (x *former) denominators(a, b form) poly {
	if a.den == nil {
		return b.den
	}
	if b.den == nil {
		return a.den
	}
	return x.multiply(a.den, b.den)
}

// sum is a + sign·b.
func (x *former) sum(a, b form, sign int) (form, bool) {
	if a.value != nil && b.value != nil {
		if bits := size(a.value) + size(b.value); bits > maxBits || !x.spend(bits) {
			return a, false
		}
		if sign < 0 {
			return form{value: new(big.Rat).Sub(a.value, b.value)}, true
		}
		return form{value: new(big.Rat).Add(a.value, b.value)}, true
	}
	p, q := a.numerator(), b.numerator()
	if b.den != nil {
		p = x.multiply(p, b.den)
	}
	if a.den != nil {
		q = x.multiply(q, a.den)
	}
	if p == nil || q == nil {
		return form{}, false
	}
	return x.quotient(x.add(p, q, sign), x.denominators(a, b))
}

// over is a/b.
func (x *former) over(a, b form) (form, bool) {
	if a.value != nil && b.value != nil {
		if bits := size(a.value) + size(b.value); b.value.Sign() == 0 || bits > maxBits || !x.spend(bits) {
			return a, false
		}
		return form{value: new(big.Rat).Quo(a.value, b.value)}, true
	}
	num, den := a.numerator(), b.numerator()
	if b.den != nil {
		num = x.multiply(num, b.den)
	}
	if a.den != nil {
		den = x.multiply(den, a.den)
	}
	if den == nil {
		return form{}, false
	}
	return x.quotient(num, den)
}

// quotient is num/den, where a denominator of a single term is divided by. Nil is 1
// below, and out of bounds above.
func (x *former) quotient(num, den poly) (form, bool) {
	if num == nil || den != nil && len(den) == 0 {
		return form{}, false
	}
	if t, ok := den.single(); ok {
		inverse, ok := x.raise(t, whole(-1))
		if !ok {
			return form{}, false
		}
		if num = x.multiply(num, poly{key(inverse.factors): inverse}); num == nil {
			return form{}, false
		}
		den = nil
	}
	if den != nil {
		if r := multiple(num, den); r != nil {
			return form{value: r}, true
		}
	}
	if r, ok := num.rational(); ok && (den == nil || r.Sign() == 0) {
		return form{value: r}, true
	}
	return form{num: num, den: den}, true
}

// multiple is the rational number p/q, nil if that is none.
func multiple(p, q poly) *big.Rat {
	if len(p) != len(q) {
		return nil
	}
	var ratio *big.Rat
	for k, t := range p {
		u, ok := q[k]
		if !ok {
			return nil
		}
		r := new(big.Rat).Quo(t.coef, u.coef)
		if ratio == nil {
			ratio = r
		} else if ratio.Cmp(r) != 0 {
			return nil
		}
	}
	return ratio
}

// power is the form of a power.
func (x *former) power(e *Expr) (form, bool) {
	exp, ok := x.form(e.Args[1])
	if !ok || exp.den != nil {
		return form{}, false
	}
	base, ok := x.form(e.Args[0])
	if !ok || exp.value == nil {
		return x.variablePower(base, exp.num, e, ok)
	}
	r := exp.value
	if b := base.value; b != nil && r.IsInt() && b.Sign() != 0 {
		if b.IsInt() && b.Num().BitLen() == 1 { // 1 and -1
			if b.Sign() > 0 || r.Num().Bit(0) == 0 {
				return form{value: one}, true
			}
			return base, true
		}
		if q, ok := small(r); ok {
			power := x.integerPower(b, q.n)
			return form{value: power}, power != nil
		}
		return form{}, false
	}
	q, ok := small(r)
	if !ok {
		return form{}, false
	}
	return x.constantPower(base, q, e.Args[0])
}

// constantPower is a form to a rational power.
func (x *former) constantPower(base form, q frac, e *Expr) (form, bool) {
	p := base.numerator()
	if len(p) == 0 {
		return base, q.n > 0 // 0 to the 0 is left undefined
	}
	if t, ok := p.single(); ok && base.den == nil {
		if t, ok := x.raise(t, q); ok {
			return x.quotient(poly{key(t.factors): t}, nil)
		}
		if q.d == 1 || len(t.factors) == 0 {
			return form{}, false
		}
	}
	if n := max(q.n, -q.n); q.d == 1 && n <= maxExpanded {
		work := x.work
		if f, ok := x.expand(base, n); ok {
			if q.n < 0 {
				return x.over(form{value: one}, f)
			}
			return f, true
		}
		x.work = work / 2 // else it is left as it is
	}
	t, _ := x.opaque("", []form{base}, e).num.single()
	t, ok := x.raise(t, q)
	return form{num: poly{key(t.factors): t}}, ok
}

// expand is a form to the power of n.
func (x *former) expand(base form, n int64) (form, bool) {
	result, ok := form{value: one}, true
	for ; n > 0 && ok; n >>= 1 {
		if n&1 == 1 {
			result, ok = x.product(result, base)
		}
		if n > 1 && ok {
			base, ok = x.product(base, base)
		}
	}
	return result, ok
}

// variablePower is e, which has variables or constants like π in its exponent: each term
// of that gives a power of the base, and b to the 2x is the square of b to the x.
func (x *former) variablePower(base form, exp poly, e *Expr, ok bool) (form, bool) {
	if !ok {
		return base, false
	}
	unknown := func() (form, bool) { return x.opaque("^", []form{base, {num: exp}}, e), true }
	t, ok := base.numerator().single()
	if !ok || base.den != nil || t.coef.Sign() < 0 {
		return unknown()
	}
	factors := t.factors
	if len(factors) == 0 {
		if factors, ok = x.factorize(t.coef); !ok {
			return unknown()
		}
	} else if t.coef.Cmp(one) != 0 || len(factors) > 1 {
		return unknown()
	}
	result := number(one)
	for _, s := range exp {
		c, fits := small(s.coef)
		for _, f := range factors {
			if !fits || f.atom[0] == opaque || f.atom[0] == unit || f.atom[0] == exponent {
				return unknown()
			}
			if f.atom[0] == variable && (c.d != 1 || f.exp != whole(1)) || mentions(s.factors, unit) {
				return unknown()
			}
			power := factor{f.atom, c.times(f.exp)}
			if len(s.factors) > 0 {
				power.atom = string(rune(exponent)) + f.atom + "|" + key(s.factors)
				x.unsure = x.unsure || !mentions(s.factors, variable)
				monomial := x.expression(term{coef: one, factors: s.factors})
				x.spell(power.atom, Make(Pow, x.expression(term{coef: one, factors: []factor{{f.atom, whole(1)}}}), monomial))
			}
			u := term{coef: one}
			if !x.multiplyBy(&u, power) {
				return form{}, false
			}
			if result = x.multiply(result, poly{key(u.factors): u}); result == nil {
				return form{}, false
			}
		}
	}
	return x.quotient(result, nil)
}

func mentions(factors []factor, kind byte) bool {
	for _, f := range factors {
		if f.atom[0] == kind {
			return true
		}
	}
	return false
}

// opaque is an atom about which no more is known than its arguments.
func (x *former) opaque(name string, args []form, e *Expr) form {
	x.unsure = true
	spelling := name + "("
	for _, arg := range args {
		spelling += arg.numerator().spelling()
		if arg.den != nil {
			spelling += " / " + arg.den.spelling()
		}
		spelling += ";"
	}
	return x.atom(opaque, spelling+")", e)
}
