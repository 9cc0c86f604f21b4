package algebra

import "math/big"

// Bounds of exact arithmetic. Beyond them a number has no exact value here.
const (
	maxBits      = 1 << 17 // of a numerator or denominator
	maxWork      = 1 << 20 // bits of all the intermediate results of an expression
	maxFactorial = 5000
)

// Exact is the value of e if it is a rational number that bounded arithmetic on
// rational numbers finds.
func Exact(e *Expr) (*big.Rat, bool) {
	x := &exact{work: maxWork}
	r := x.value(e)
	return r, r != nil
}

// exact evaluates expressions until its work is used up; nil stands for no
// value.
type exact struct {
	work  int
	bound []binding // the variables of the sums around
}

func (x *exact) value(e *Expr) *big.Rat {
	switch e.Op {
	case Number:
		return e.Num
	case Symbol:
		if n, ok := find(x.bound, e.Name); ok {
			return big.NewRat(n, 1)
		}
	case Neg:
		if a := x.value(e.Args[0]); a != nil {
			return new(big.Rat).Neg(a)
		}
	case Add, Mul:
		return x.fold(e)
	case Div:
		a := x.value(e.Args[0])
		if a == nil {
			return nil
		}
		if b := x.value(e.Args[1]); b != nil && b.Sign() != 0 && x.spend(a, b) {
			return new(big.Rat).Quo(a, b)
		}
	case Pow:
		a := x.value(e.Args[0])
		if a == nil {
			return nil
		}
		if b := x.value(e.Args[1]); b != nil {
			return x.power(a, b)
		}
	case Call:
		return x.call(e)
	}
	return nil
}

func (x *exact) fold(e *Expr) *big.Rat {
	var total *big.Rat
	for _, arg := range e.Args {
		a := x.value(arg)
		switch {
		case a == nil:
			return nil
		case total == nil:
			total = new(big.Rat).Set(a)
		case !x.spend(total, a):
			return nil
		case e.Op == Add:
			total.Add(total, a)
		default:
			total.Mul(total, a)
		}
	}
	return total
}

// spend pays for an operation on a and b. It is false if that is too much.
func (x *exact) spend(a, b *big.Rat) bool {
	n := size(a) + size(b)
	x.work -= n
	return n <= maxBits && x.work >= 0
}

// size is the length of r in bits.
func size(r *big.Rat) int { return r.Num().BitLen() + r.Denom().BitLen() }

// power is a to the b for whole b, and for roots that are rational.
func (x *exact) power(a, b *big.Rat) *big.Rat {
	if !b.IsInt() {
		if b.Denom().IsInt64() && b.Denom().Int64() == 2 && b.Num().IsInt64() && b.Num().Int64() == 1 {
			return x.root(a)
		}
		return nil
	}
	if a.Sign() == 0 {
		if b.Sign() <= 0 {
			return nil // 0 to the 0 is left undefined
		}
		return new(big.Rat)
	}
	if a.IsInt() && a.Num().BitLen() == 1 { // 1 and -1
		if a.Sign() > 0 || b.Num().Bit(0) == 0 {
			return big.NewRat(1, 1)
		}
		return big.NewRat(-1, 1)
	}
	if b.Num().BitLen() > 20 {
		return nil
	}
	n := int(b.Num().Int64())
	bits := size(a) * max(n, -n)
	if x.work -= bits; bits > maxBits || x.work < 0 {
		return nil
	}
	exponent := big.NewInt(int64(max(n, -n)))
	p, q := new(big.Int).Exp(a.Num(), exponent, nil), new(big.Int).Exp(a.Denom(), exponent, nil)
	if n < 0 {
		p, q = q, p
	}
	return new(big.Rat).SetFrac(p, q)
}

// root is the square root of a square, and nil for other numbers.
func (x *exact) root(a *big.Rat) *big.Rat {
	if a.Sign() < 0 || size(a) > maxBits/16 || !x.spend(a, a) {
		return nil
	}
	p, q := new(big.Int).Sqrt(a.Num()), new(big.Int).Sqrt(a.Denom())
	r := new(big.Rat).SetFrac(p, q)
	if new(big.Rat).Mul(r, r).Cmp(a) != 0 {
		return nil
	}
	return r
}

func (x *exact) call(e *Expr) *big.Rat {
	if isSum(e) {
		return x.sum(e)
	}
	var args [2]*big.Rat
	if len(e.Args) == 0 || len(e.Args) > 2 {
		return nil
	}
	for i, arg := range e.Args {
		if args[i] = x.value(arg); args[i] == nil {
			return nil
		}
	}
	a := args[0]
	switch e.Name {
	case "abs":
		return new(big.Rat).Abs(a)
	case "floor":
		return new(big.Rat).SetInt(floor(a))
	case "ceil":
		return new(big.Rat).Neg(new(big.Rat).SetInt(floor(new(big.Rat).Neg(a))))
	case "sqrt":
		return x.root(a)
	case "conjugate", "re":
		return a
	case "im":
		return new(big.Rat)
	case "factorial":
		if n, ok := small(a); ok {
			x.work -= int(n) * 8
			return new(big.Rat).SetInt(new(big.Int).MulRange(1, n))
		}
	case "doublefactorial":
		if n, ok := small(a); ok {
			x.work -= int(n) * 8
			product := big.NewInt(1)
			for ; n > 1; n -= 2 {
				product.Mul(product, big.NewInt(n))
			}
			return new(big.Rat).SetInt(product)
		}
	case "gcd", "lcm", "max", "min":
		if args[1] == nil {
			return a
		}
		return pair(e.Name, a, args[1])
	case "binom":
		n, ok := small(a)
		if k, okay := small(args[1]); ok && okay {
			x.work -= int(n) * 8
			return new(big.Rat).SetInt(new(big.Int).Binomial(n, k))
		}
	}
	return nil
}

// floor is the greatest integer that is no more than a.
func floor(a *big.Rat) *big.Int {
	return new(big.Int).Div(a.Num(), a.Denom()) // Euclidean, and the denominator is positive
}

// small is a as a whole number whose factorial is within bounds.
func small(a *big.Rat) (int64, bool) {
	if a == nil || !a.IsInt() || !a.Num().IsInt64() {
		return 0, false
	}
	n := a.Num().Int64()
	return n, n >= 0 && n <= maxFactorial
}
