package algebra

import (
	"math"
	"math/big"
	"sync"
)

// Elementary functions of real numbers, to working precision less the guard
// bits that separate it from the precision of results.

// constant is a number from its decimals.
func constant(decimals string) func() *big.Float {
	return sync.OnceValue(func() *big.Float {
		f, _, _ := big.ParseFloat(decimals, 10, 384, big.ToNearestEven)
		return f
	})
}

// To 120 decimals, which is beyond the 384 bits that they are read to.
var (
	pi  = constant("3.141592653589793238462643383279502884197169399375105820974944592307816406286208998628034825342117067982148086513282306647")
	ln2 = constant("0.693147180559945309417232121458176568075500134360255254120680009493393621969694715605863326996418687542001481020570685733")
)

// reductionPrecision is used to subtract a multiple of a constant: a quotient
// of up to 64 bits may cancel.
const reductionPrecision = working + 80

// reduce subtracts from x the nearest multiple n of unit.
func reduce(x, unit *big.Float) (rest *big.Float, n int64) {
	wide := func() *big.Float { return new(big.Float).SetPrec(reductionPrecision) }
	q := wide().Quo(x, unit)
	q.Add(q, big.NewFloat(math.Copysign(0.5, float64(x.Sign()))))
	n, _ = q.Int64()
	return wide().Sub(x, wide().Mul(unit, wide().SetInt64(n))), n
}

// expReal is e to the x, for |x| below 2^20.
func expReal(x *big.Float) *big.Float {
	const halvings = 12
	r, n := reduce(x, ln2())
	r = newFloat().Set(r)
	if r.Sign() != 0 {
		r.SetMantExp(r, -halvings)
	}
	// The sum less 1 is squared, so that small results keep their digits.
	sum, term := newFloat(), newFloat().SetInt64(1)
	for k := int64(1); k < 60; k++ {
		term.Mul(term, r)
		if term.Sign() == 0 || exponent(term) < -working-halvings {
			break
		}
		term.Quo(term, newFloat().SetInt64(k))
		sum.Add(sum, term)
	}
	two := newFloat().SetInt64(2)
	for range halvings { // (1+s)^2 = 1 + s(2+s)
		sum.Mul(sum, newFloat().Add(two, sum))
	}
	sum.Add(sum, newFloat().SetInt64(1))
	return sum.SetMantExp(sum, int(n))
}

// logReal is the natural logarithm of x > 0.
func logReal(x *big.Float) *big.Float {
	m := newFloat()
	e := x.MantExp(m)
	if near, _ := m.Float64(); near < math.Sqrt2/2 {
		m.SetMantExp(m, 1)
		e--
	}
	near, _ := m.Float64()
	start := newFloat().SetFloat64(math.Log(near))
	t := newFloat().Mul(m, expReal(newFloat().Neg(start)))
	t.Sub(t, newFloat().SetInt64(1)) // m = exp(start)·(1+t) with t of some 50 bits
	sum := series(t, 1)
	sum.Add(sum, start)
	return sum.Add(sum, newFloat().Mul(ln2(), newFloat().SetInt64(int64(e))))
}

// series is t − t²/2 + t³/3 … with step 1, and t − t³/3 + t⁵/5 … with step 2,
// for t so small that six terms do.
func series(t *big.Float, step int64) *big.Float {
	sum, power := newFloat().Set(t), newFloat().Set(t)
	factor := newFloat().Set(t)
	if step == 2 {
		factor.Mul(t, t)
	}
	for k, s := 1+step, int64(-1); k < 1+6*step; k, s = k+step, -s {
		power.Mul(power, factor)
		sum.Add(sum, newFloat().Quo(power, newFloat().SetInt64(s*k)))
	}
	return sum
}

// sinCos is the sine and the cosine of x, for |x| below 2^60.
func sinCos(x *big.Float) (sin, cos *big.Float) {
	const halvings = 8
	half := new(big.Float).SetPrec(384)
	half.SetMantExp(pi(), -1)
	r, n := reduce(x, half)
	r = newFloat().Set(r)
	if r.Sign() != 0 {
		r.SetMantExp(r, -halvings)
	}
	sin, c := newFloat().Set(r), newFloat() // c = 1 − cos
	term := newFloat().Set(r)
	for k := int64(2); k < 80; k++ {
		term.Mul(term, r)
		if term.Sign() == 0 || exponent(term) < -2*working {
			break
		}
		term.Quo(term, newFloat().SetInt64(k))
		if k%2 == 0 {
			term.Neg(term)
			c.Sub(c, term)
		} else {
			sin.Add(sin, term)
		}
	}
	for range halvings { // sin 2r = 2 sin r (1−c), 1 − cos 2r = 2 sin² r
		next := newFloat().Mul(sin, sin)
		next.SetMantExp(next, 1)
		one := newFloat().Sub(newFloat().SetInt64(1), c)
		sin.Mul(sin, one)
		sin.SetMantExp(sin, 1)
		c = next
	}
	cos = newFloat().Sub(newFloat().SetInt64(1), c)
	for range (n%4 + 4) % 4 { // by a right angle each
		sin, cos = cos, newFloat().Neg(sin)
	}
	return sin, cos
}

// angle is the argument of x + iy, which is not zero.
func angle(x, y *big.Float) *big.Float {
	// Both are scaled into the range of float64.
	shift := -int(max(exponent(x), exponent(y)))
	x, y = newFloat().SetMantExp(x, shift), newFloat().SetMantExp(y, shift)
	fx, _ := x.Float64()
	fy, _ := y.Float64()
	start := newFloat().SetFloat64(math.Atan2(fy, fx))
	sin, cos := sinCos(start)
	// tan(angle − start) = (y cos − x sin)/(x cos + y sin)
	p := newFloat().Sub(newFloat().Mul(y, cos), newFloat().Mul(x, sin))
	q := newFloat().Add(newFloat().Mul(x, cos), newFloat().Mul(y, sin))
	t := series(p.Quo(p, q), 2)
	return t.Add(t, start)
}
