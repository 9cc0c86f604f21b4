package algebra

import (
	"math"
	"math/big"
)

// evaluator evaluates expressions without variables.
type evaluator struct {
	prec    uint     // of floating point, in bits; 0: all must be exact
	complex bool     // roots and powers are principal values, not real ones
	real    bool     // there are no other numbers: roots of negative numbers are undefined
	work    *float64 // in operations on 64 bits, that may yet be done
	height  float64  // the sum of the sizes of all values in bits
	outside bool     // a factorial or a binomial coefficient had a negative argument
}

// value is e. It is false where e is not defined, too large, or not known well enough to
// evaluate it.
func (p *evaluator) value(e *Expr) (number, bool) {
	cost := 1 + float64(p.prec)/64
	if e.Op == Pi || e.Op == Euler || e.Op == Pow && e.Args[1].Op != Number || e.Op == Call && e.Name != "abs" && e.Name != "sqrt" {
		cost *= 6 + float64(p.prec)/256
	}
	if *p.work -= cost; *p.work < 0 {
		return number{}, false
	}
	before := p.height
	n, ok := p.principal(e)
	if !ok || n.rat == nil && p.prec == 0 {
		return n, false
	}
	if n.rat != nil {
		p.height = before + float64(bits(n.rat))
		*p.work -= float64(bits(n.rat)) / 64
	} else if !n.zero() {
		p.height += math.Abs(n.size())
	}
	return n, n.isReal() || !p.real
}

// principal is the value of e whether or not it is real.
func (p *evaluator) principal(e *Expr) (number, bool) {
	switch e.Op {
	case Number:
		return rational(e.Num), bits(e.Num) <= maxBits
	case Add, Mul, Div, Neg:
		return p.fold(e)
	case Pow:
		if e.Args[0].Op == Euler {
			n, ok := p.value(e.Args[1])
			if !ok {
				return n, false
			}
			return p.exp(n)
		}
		a, okA := p.value(e.Args[0])
		if !okA {
			return a, false
		}
		b, okB := p.value(e.Args[1])
		if !okB {
			return b, false
		}
		return p.power(a, b, !p.complex)
	case Call:
		return p.call(e)
	}
	switch {
	case p.prec == 0:
	case e.Op == Pi:
		return p.angle(whole(-1), whole(0))
	case e.Op == Euler:
		return p.exp(whole(1))
	case e.Op == Imaginary:
		return p.made(p.float(), p.float().SetInt64(1), absent)
	}
	return number{}, false
}

// fold is a sum, a product, a quotient or a negative.
func (p *evaluator) fold(e *Expr) (number, bool) {
	total, ok := p.value(e.Args[0])
	if e.Op == Neg && ok {
		return p.neg(total), true
	}
	for _, arg := range e.Args[1:] {
		n, found := p.value(arg)
		if e.Op == Div && found {
			n, found = p.inverse(n)
		}
		switch {
		case !ok || !found:
			return total, false
		case e.Op == Add:
			total, ok = p.add(total, n)
		default:
			total, ok = p.mul(total, n)
		}
	}
	return total, ok
}

func (p *evaluator) call(e *Expr) (number, bool) {
	if other := defined(e); other != nil {
		return p.value(other)
	}
	if len(e.Args) == 0 || len(e.Args) > 2 {
		return number{}, false
	}
	a, ok := p.value(e.Args[0])
	if !ok {
		return a, false
	}
	if len(e.Args) == 2 {
		b, ok := p.value(e.Args[1])
		switch {
		case !ok:
			return b, false
		case e.Name == "root":
			if b, ok = p.inverse(b); !ok {
				return b, false
			}
			return p.power(a, b, !p.complex)
		case a.rat == nil || b.rat == nil || !a.rat.IsInt() || !b.rat.IsInt():
			return a, false
		}
		p.outside = p.outside || e.Name == "binom" && (a.rat.Sign() < 0 || b.rat.Sign() < 0)
		return ofIntegers(e.Name, a.rat.Num(), b.rat.Num())
	}
	return p.unary(e.Name, a)
}

// ofIntegers is a function of two integers.
func ofIntegers(name string, m, n *big.Int) (number, bool) {
	switch {
	case name == "binom" && m.IsInt64() && n.IsInt64() && m.Sign() >= 0 && n.Sign() >= 0 && m.Int64() <= maxFactorial:
		return rational(new(big.Rat).SetInt(new(big.Int).Binomial(m.Int64(), n.Int64()))), true
	case name != "gcd" && name != "lcm" || m.Sign() == 0 || n.Sign() == 0:
		return number{}, false
	}
	m, n = new(big.Int).Abs(m), new(big.Int).Abs(n)
	d := new(big.Int).GCD(nil, nil, m, n)
	if name == "lcm" {
		d = m.Mul(m, n.Quo(n, d))
	}
	return rational(new(big.Rat).SetInt(d)), true
}

// maxFactorial bounds numbers whose factorial is computed.
const maxFactorial = 5000

func (p *evaluator) unary(name string, n number) (number, bool) {
	switch name {
	case "abs":
		return p.abs(n)
	case "floor":
		return p.floor(n)
	case "factorial":
		p.outside = p.outside || n.sign() < 0
		if n.rat == nil || !n.rat.IsInt() || n.sign() < 0 || n.rat.Cmp(big.NewRat(maxFactorial, 1)) > 0 {
			return n, false
		}
		return rational(new(big.Rat).SetInt(new(big.Int).MulRange(1, n.rat.Num().Int64()))), true
	case "sqrt":
		return p.sqrt(n)
	}
	if p.prec == 0 {
		return n, false
	}
	p.height += 2 * max(0, n.size()) // 1/n is in arctan n
	switch name {
	case "ln":
		return p.ln(n)
	case "sin", "cos":
		return p.circular(n, name == "cos")
	case "arctan":
		return p.angle(whole(1), n)
	case "arcsin":
		square, _ := p.mul(n, n)
		rest, ok := p.add(whole(1), p.neg(square))
		if !ok {
			return n, false
		}
		c, ok := p.sqrt(rest)
		if !ok {
			return n, false
		}
		return p.angle(c, n)
	}
	return n, false
}

// floor is the greatest integer that is no more than a real number. One that may be an
// integer is one.
func (p *evaluator) floor(n number) (number, bool) {
	if n.rat != nil {
		return rational(new(big.Rat).SetInt(floor(n.rat))), true
	}
	if !n.isReal() || n.size() > float64(p.prec)/2 {
		return n, false
	}
	r, _ := n.re.Rat(nil)
	nearest := floor(new(big.Rat).Add(r, big.NewRat(1, 2)))
	if off := p.float().Sub(n.re, p.float().SetInt(nearest)); off.Sign() < 0 && size2(off) > n.err+1 {
		nearest.Sub(nearest, big.NewInt(1))
	}
	return rational(new(big.Rat).SetInt(nearest)), true
}

// floor is the greatest integer that is no more than r.
func floor(r *big.Rat) *big.Int {
	return new(big.Int).Div(r.Num(), r.Denom()) // Euclidean, and the denominator is positive
}

// circular is the cosine of a real number or its sine, the parts of e^in.
func (p *evaluator) circular(n number, cosine bool) (number, bool) {
	switch {
	case n.rat != nil && n.zero() && cosine:
		return whole(1), true
	case n.rat != nil && n.zero() || !n.isReal():
		return n, n.isReal()
	}
	i := number{re: p.float(), im: p.float().SetInt64(1), err: absent}
	turned, _ := p.mul(i, n)
	e, ok := p.exp(turned)
	if !ok {
		return n, false
	}
	re, im, _ := p.parts(e)
	if cosine {
		return p.made(re, nil, e.error())
	}
	return p.made(im, nil, e.error())
}
