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
	inner   bool     // its numbers are steps on the way to a value, of any size
	work    *float64 // in operations on 64 bits, that may yet be done
	height  float64  // the sum of the sizes of all values in bits
	outside bool     // a factorial or a binomial coefficient had a negative argument
}

// value is e. It is undefined where e is not defined, too large, or not known well enough to
// evaluate it.
func (p *evaluator) value(e *Expr) number {
	cost := 1 + float64(p.prec)/64
	if e.Op == Pi || e.Op == Euler || e.Op == Pow && e.Args[1].Op != Number || e.Op == Call && e.Name != "abs" && e.Name != "sqrt" {
		cost *= 6 + float64(p.prec)/256
	}
	if *p.work -= cost; *p.work < 0 {
		return undefined
	}
	before := p.height
	n := p.principal(e)
	switch {
	case n.rat != nil:
		p.height = before + float64(bits(n.rat))
		*p.work -= float64(bits(n.rat)) / 64
	case p.prec == 0 || !n.defined() || p.real && !n.isReal():
		return undefined
	case !n.zero():
		p.height += math.Abs(n.size())
	}
	return n
}

// principal is the value of e whether or not it is real.
func (p *evaluator) principal(e *Expr) number {
	switch e.Op {
	case Number:
		if bits(e.Num) <= maxBits {
			return rational(e.Num)
		}
	case Pi:
		return p.angle(whole(-1), whole(0))
	case Euler:
		return p.exp(whole(1))
	case Imaginary:
		return p.made(p.float(), p.float().SetInt64(1), absent)
	case Neg:
		return p.neg(p.value(e.Args[0]))
	case Add, Mul, Div:
		return p.fold(e)
	case Pow:
		if e.Args[0].Op == Euler {
			return p.exp(p.value(e.Args[1]))
		}
		return p.power(p.value(e.Args[0]), p.value(e.Args[1]))
	case Call:
		if other := defined(e); other != nil {
			return p.value(other)
		}
		switch len(e.Args) {
		case 1:
			return p.unary(e.Name, p.value(e.Args[0]))
		case 2:
			return p.binary(e.Name, p.value(e.Args[0]), p.value(e.Args[1]))
		}
	}
	return undefined
}

// fold is a sum, a product or a quotient.
func (p *evaluator) fold(e *Expr) number {
	total := p.value(e.Args[0])
	for _, arg := range e.Args[1:] {
		switch n := p.value(arg); e.Op {
		case Add:
			total = p.add(total, n)
		case Mul:
			total = p.mul(total, n)
		default:
			total = p.mul(total, p.inverse(n))
		}
		if !total.defined() {
			break
		}
	}
	return total
}

// maxFactorial bounds numbers whose factorial is computed.
const maxFactorial = 5000

func (p *evaluator) binary(name string, a, b number) number {
	if name == "root" {
		return p.power(a, p.inverse(b))
	} else if !a.isInt() || !b.isInt() {
		return undefined
	}
	m, n := a.rat.Num(), b.rat.Num()
	switch d := new(big.Int); name {
	case "binom":
		outside := m.Sign() < 0 || n.Sign() < 0
		p.outside = p.outside || outside
		if !outside && m.IsInt64() && n.IsInt64() && m.Int64() <= maxFactorial {
			return integer(d.Binomial(m.Int64(), n.Int64()))
		}
	case "gcd", "lcm":
		if d.GCD(nil, nil, m, n); m.Sign() == 0 || n.Sign() == 0 {
			return undefined
		} else if name == "gcd" {
			return integer(d)
		}
		return integer(d.Abs(d.Mul(m, d.Quo(n, d))))
	}
	return undefined
}

func (p *evaluator) unary(name string, n number) number {
	switch name {
	case "abs":
		return p.abs(n)
	case "floor":
		return p.floor(n)
	case "factorial":
		p.outside = p.outside || n.sign() < 0
		if !n.isInt() || n.sign() < 0 || n.rat.Cmp(big.NewRat(maxFactorial, 1)) > 0 {
			return undefined
		}
		return integer(new(big.Int).MulRange(1, n.rat.Num().Int64()))
	case "sqrt":
		return p.sqrt(n)
	}
	if p.prec == 0 {
		return undefined
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
		return p.angle(p.sqrt(p.add(whole(1), p.neg(p.mul(n, n)))), n)
	}
	return undefined
}
