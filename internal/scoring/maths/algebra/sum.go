package algebra

import "math/big"

// Bounds of sums and products of several terms. Those beyond them have no
// value here.
const (
	maxTerms     = 10000 // of one that is evaluated exactly
	numericNodes = 8000  // of all the terms that a comparison evaluates numerically
	termWork     = 16    // bits that a node of a term is worth
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

// HasSum tells whether e has a sum or a product of several terms in it, which
// takes much longer to compare than its size says.
func (e *Expr) HasSum() bool { return e.Any(isSum) }

// binding is the value of the variable of a sum.
type binding struct {
	name  string
	value int64
}

func find(bound []binding, name string) (int64, bool) {
	for i := len(bound) - 1; i >= 0; i-- {
		if bound[i].name == name {
			return bound[i].value, true
		}
	}
	return 0, false
}

// sum adds or multiplies the terms one by one.
func (x *exact) sum(e *Expr) *big.Rat {
	from, to := x.value(e.Args[2]), x.value(e.Args[3])
	if from == nil || to == nil || !from.IsInt() || !to.IsInt() || !from.Num().IsInt64() || !to.Num().IsInt64() {
		return nil
	}
	first, last := from.Num().Int64(), to.Num().Int64()
	if last < first || last-first >= maxTerms || last-first < 0 {
		return nil
	}
	total, step := new(big.Rat), Add
	if e.Name == "prod" {
		total, step = big.NewRat(1, 1), Mul
	}
	cost := termWork * e.Args[0].Size(maxNodes)
	for k := first; k <= last; k++ {
		if x.work -= cost; x.work < 0 {
			return nil
		}
		x.bound = append(x.bound, binding{e.Args[1].Name, k})
		term := x.value(e.Args[0])
		x.bound = x.bound[:len(x.bound)-1]
		switch {
		case term == nil || !x.spend(total, term):
			return nil
		case step == Add:
			total.Add(total, term)
		default:
			total.Mul(total, term)
		}
	}
	return total
}

// sum adds or multiplies the terms one by one, for as long as there are nodes
// left to the comparison.
func (p point) sum(e *Expr) (ball, bool) {
	from, okFrom := p.whole(e.Args[2])
	to, okTo := p.whole(e.Args[3])
	if !okFrom || !okTo || to < from || to-from < 0 || to-from >= numericNodes || p.nodes == nil {
		return ball{}, false
	}
	total := whole(0)
	if e.Name == "prod" {
		total = whole(1)
	}
	cost := e.Args[0].Size(maxNodes)
	for k := from; k <= to; k++ {
		if *p.nodes -= cost; *p.nodes < 0 {
			return ball{}, false
		}
		inner := p
		inner.bound = append(p.bound[:len(p.bound):len(p.bound)], binding{e.Args[1].Name, k})
		term, ok := inner.value(e.Args[0])
		if !ok {
			return ball{}, false
		}
		if e.Name == "sum" {
			total, ok = total.add(term)
		} else {
			total, ok = total.mul(term)
		}
		if !ok {
			return ball{}, false
		}
	}
	return total, true
}

// whole is the value of e if it is a whole number.
func (p point) whole(e *Expr) (int64, bool) {
	b, ok := p.value(e)
	if !ok {
		return 0, false
	}
	return b.integer()
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
