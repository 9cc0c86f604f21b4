package algebra

import (
	"math"
	"math/big"
	"sync"
)

// Elementary functions of real numbers, to the precision of their argument less the
// guard bits that separate it from the precision of results.

// known is a constant to the highest precision that was asked for.
type known struct {
	compute func(bits uint) *big.Int // the constant times 2^bits
	mutex   sync.Mutex
	value   *big.Float
}

var (
	circle = known{compute: func(bits uint) *big.Int { // Machin
		return new(big.Int).Sub(inverse(16, 5, bits, -1), inverse(4, 239, bits, -1))
	}}
	ln2 = known{compute: func(bits uint) *big.Int {
		n := new(big.Int).Sub(inverse(18, 26, bits, 1), inverse(2, 4801, bits, 1))
		return n.Add(n, inverse(8, 8749, bits, 1))
	}}
)

// to is the constant to a precision.
func (k *known) to(prec uint) *big.Float {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.value == nil || k.value.Prec() < prec {
		bits := max(2*prec, 1024)
		f := newFloat(bits).SetInt(k.compute(bits + 32))
		k.value = f.SetMantExp(f, -int(bits+32))
	}
	return newFloat(prec).Set(k.value)
}

// inverse is factor·artanh(1/q), with sign −1 factor·arctan(1/q), times 2^bits.
func inverse(factor, q int64, bits uint, sign int64) *big.Int {
	power := new(big.Int).Lsh(big.NewInt(factor), bits)
	power.Quo(power, big.NewInt(q))
	sum, square := new(big.Int), big.NewInt(q*q)
	for k, s := int64(1), int64(1); power.Sign() != 0; k, s = k+2, s*sign {
		sum.Add(sum, new(big.Int).Quo(power, big.NewInt(s*k)))
		power.Quo(power, square)
	}
	return sum
}

// reduce subtracts from x the nearest multiple n of a constant divided by 2^halvings.
func reduce(x *big.Float, k *known, halvings int) (rest *big.Float, n int64) {
	prec := x.Prec() + 80 // a quotient of up to 64 bits may cancel
	unit := k.to(prec)
	unit.SetMantExp(unit, -halvings)
	q := newFloat(prec).Quo(x, unit)
	q.Add(q, big.NewFloat(math.Copysign(0.5, float64(x.Sign()))))
	n, _ = q.Int64()
	rest = newFloat(prec).Sub(x, unit.Mul(unit, newFloat(prec).SetInt64(n)))
	return newFloat(x.Prec()).Set(rest), n
}

// halvingsFor is how often an argument is halved before a series is summed.
func halvingsFor(prec uint) int { return min(24, 4+int(math.Sqrt(float64(prec))/2)) }

// expReal is e to the x, for |x| below 2^20.
func expReal(x *big.Float) *big.Float {
	bits := x.Prec() + guard/2
	halvings := halvingsFor(bits)
	r, n := reduce(x, &ln2, 0)
	t := fixed(r, bits-uint(halvings)) // over 2^halvings, with that many bits more
	// The sum less 1 is squared, so that small results keep their digits.
	sum, term := new(big.Int), new(big.Int).Lsh(big.NewInt(1), bits)
	for k := int64(1); ; k++ {
		term.Rsh(term.Mul(term, t), bits)
		if term.Quo(term, big.NewInt(k)); term.BitLen() < 2 {
			break
		}
		sum.Add(sum, term)
	}
	next, two := new(big.Int), new(big.Int).Lsh(big.NewInt(2), bits)
	for range halvings { // (1+s)^2 = 1 + s(2+s)
		sum.Rsh(sum.Mul(sum, next.Add(two, sum)), bits)
	}
	sum.Add(sum, two.Rsh(two, 1))
	f := newFloat(x.Prec()).SetInt(sum)
	return f.SetMantExp(f, int(n)-int(bits))
}

// fixed is f times 2^bits as an integer.
func fixed(f *big.Float, bits uint) *big.Int {
	n, _ := newFloat(f.Prec()).SetMantExp(f, int(bits)).Int(nil)
	return n
}

// logReal is the natural logarithm of x > 0.
func logReal(x *big.Float) *big.Float {
	prec := x.Prec()
	m := newFloat(prec)
	e := x.MantExp(m)
	if near, _ := m.Float64(); near < math.Sqrt2/2 {
		m.SetMantExp(m, 1)
		e--
	}
	near, _ := m.Float64()
	sum := newFloat(prec).SetFloat64(math.Log(near))
	for right := uint(45); right < prec; right *= 6 { // m = exp(sum)·(1+t)
		enough := min(prec, 6*right+guard)
		start := newFloat(enough).Set(sum)
		t := newFloat(enough).Mul(m, expReal(newFloat(enough).Neg(start)))
		t.Sub(t, big.NewFloat(1))
		sum.Add(start, series(t, 1))
	}
	return sum.Add(sum, newFloat(prec).Mul(ln2.to(prec), newFloat(prec).SetInt64(int64(e))))
}

// series is t − t²/2 + t³/3 … with step 1, and t − t³/3 + t⁵/5 … with step 2,
// for t so small that six terms do.
func series(t *big.Float, step int64) *big.Float {
	prec := t.Prec()
	sum, power, factor := newFloat(prec).Set(t), newFloat(prec).Set(t), newFloat(prec).Set(t)
	if step == 2 {
		factor.Mul(t, t)
	}
	for k, s := 1+step, int64(-1); k < 1+6*step; k, s = k+step, -s {
		power.Mul(power, factor)
		sum.Add(sum, newFloat(prec).Quo(power, newFloat(64).SetInt64(s*k)))
	}
	return sum
}

// sinCos is the sine and the cosine of x, for |x| below 2^60, with an absolute error.
func sinCos(x *big.Float) (sin, cos *big.Float) {
	bits := x.Prec() + guard/2
	halvings := halvingsFor(bits)
	r, n := reduce(x, &circle, 1)
	t := fixed(r, bits-uint(halvings))
	s, c, term := new(big.Int).Set(t), new(big.Int), new(big.Int).Set(t) // c = 1 − cos
	for k := int64(2); ; k++ {
		term.Rsh(term.Mul(term, t), bits)
		if term.Quo(term, big.NewInt(k)); term.BitLen() < 2 {
			break
		}
		if k%2 == 0 {
			term.Neg(term)
			c.Sub(c, term)
		} else {
			s.Add(s, term)
		}
	}
	one, next := new(big.Int).Lsh(big.NewInt(1), bits), new(big.Int)
	for range halvings { // sin 2r = 2 sin r (1−c), 1 − cos 2r = 2 sin² r
		next.Rsh(next.Mul(s, s), bits-1)
		s.Rsh(s.Mul(s, c.Sub(one, c)), bits-1)
		c, next = next, c
	}
	c.Sub(one, c)
	for range (n%4 + 4) % 4 { // by a right angle each
		s, c = c, s.Neg(s)
	}
	float := func(n *big.Int) *big.Float {
		f := newFloat(x.Prec()).SetInt(n)
		return f.SetMantExp(f, -int(bits))
	}
	return float(s), float(c)
}

// angle is the argument of x + iy, which is not zero.
func angle(x, y *big.Float) *big.Float {
	// Both are scaled into the range of float64.
	prec := x.Prec()
	shift := -int(max(size2(x), size2(y)))
	x, y = newFloat(prec).SetMantExp(x, shift), newFloat(prec).SetMantExp(y, shift)
	fx, _ := x.Float64()
	fy, _ := y.Float64()
	sum := newFloat(prec).SetFloat64(math.Atan2(fy, fx))
	for right := uint(45); right < prec; right *= 6 {
		enough := min(prec, 6*right+guard)
		start := newFloat(enough).Set(sum)
		sin, cos := sinCos(start)
		// tan(angle − start) = (y cos − x sin)/(x cos + y sin)
		p := newFloat(enough).Sub(newFloat(enough).Mul(y, cos), newFloat(enough).Mul(x, sin))
		q := newFloat(enough).Add(newFloat(enough).Mul(x, cos), newFloat(enough).Mul(y, sin))
		sum.Add(start, series(p.Quo(p, q), 2))
	}
	return sum
}
