package algebra

import "math/big"

func exp(b ball) (ball, bool) {
	if size2(b.re) > 18 || size2(b.im) > 60 || b.err > -2 {
		return ball{}, false
	}
	r := expReal(b.re)
	if b.im == nil {
		if b.zero() {
			return b.whole(1), true
		}
		return rounded(r, nil, size2(r)+b.err+1)
	}
	s, c := sinCos(b.im)
	return rounded(c.Mul(c, r), s.Mul(s, r), size2(r)+b.err+1)
}

// ln is the principal natural logarithm.
func ln(b ball) (ball, bool) {
	if b.nought() {
		return ball{}, false
	}
	norm, ok := b.size()
	if !ok {
		return ball{}, false
	}
	re := logReal(norm.re)
	// An absolute error: the logarithm may be near zero.
	err := sumOf(b.err-b.low()+1, -b.bits())
	if b.im == nil && b.re.Sign() > 0 {
		if b.err <= exactly && re.Sign() == 0 {
			return b.whole(0), true
		}
		return rounded(re, nil, err)
	}
	return rounded(re, angle(b.re, b.imaginary()), err)
}

// power is a to the b, the principal value.
func power(a, b ball) (ball, bool) {
	if n, ok := b.integer(); ok && -1<<16 < n && n < 1<<16 {
		return integerPower(a, n)
	}
	if a.zero() {
		return a, b.im == nil && b.re.Sign() > 0 && !b.nought()
	}
	l, ok := ln(a)
	if !ok {
		return ball{}, false
	}
	if l, ok = l.mul(b); !ok {
		return ball{}, false
	}
	return exp(l)
}

func integerPower(a ball, n int64) (ball, bool) {
	if n <= 0 && a.nought() {
		return ball{}, false
	}
	if n < 0 {
		inverse, ok := a.inverse()
		if !ok {
			return ball{}, false
		}
		return integerPower(inverse, -n)
	}
	result, ok := a.whole(1), true
	for ; n > 0 && ok; n >>= 1 {
		if n&1 == 1 {
			if result, ok = result.mul(a); !ok {
				break
			}
		}
		if n > 1 {
			a, ok = a.mul(a)
		}
	}
	return result, ok
}

// root is the n-th root of a: of a negative number the real one if n is odd,
// else the principal one.
func root(a ball, n *big.Rat, realOnly bool) (ball, bool) {
	if n.Sign() == 0 {
		return ball{}, false
	}
	if a.zero() {
		return a, n.Sign() > 0
	}
	odd := n.IsInt() && n.Num().Bit(0) == 1
	negative := realOnly && odd && a.im == nil && a.re.Sign() < 0
	if negative {
		a = a.neg()
	}
	inverse, ok := a.rational(new(big.Rat).Inv(n))
	if !ok {
		return inverse, false
	}
	r, ok := power(a, inverse)
	if negative && ok {
		r = r.neg()
	}
	return r, ok
}

// sine and cosine of complex numbers go by the exponential function.
func sine(b ball) (ball, bool) {
	if b.im != nil {
		return circular(b, -1)
	}
	if b.zero() || size2(b.re) > 60 {
		return b, b.zero()
	}
	s, _ := sinCos(b.re)
	return rounded(s, nil, sumOf(b.err, -b.bits()))
}

func cosine(b ball) (ball, bool) {
	if b.im != nil {
		return circular(b, 1)
	}
	if size2(b.re) > 60 {
		return ball{}, false
	}
	_, c := sinCos(b.re)
	return rounded(c, nil, sumOf(b.err, -b.bits()))
}

// circular is (e^ib + e^−ib)/2, the cosine, and with the sign −1 the sine,
// (e^ib − e^−ib)/2i.
func circular(b ball, sign int64) (ball, bool) {
	z, ok := b.mul(ball{re: b.float(), im: b.float().SetInt64(1), err: exactly})
	if !ok {
		return z, false
	}
	up, okUp := exp(z)
	down, okDown := exp(z.neg())
	if !okUp || !okDown {
		return ball{}, false
	}
	half := ball{re: big.NewFloat(0.5), err: exactly}
	if sign < 0 {
		down = down.neg()
		half = ball{re: b.float(), im: big.NewFloat(-0.5), err: exactly}
	}
	sum, ok := up.add(down)
	if !ok {
		return sum, false
	}
	return sum.mul(half)
}

// arc is the angle whose cosine is x and whose sine is y, for real numbers.
func arc(x, y ball, ok bool) (ball, bool) {
	if !ok || x.im != nil || y.im != nil || x.nought() && y.nought() {
		return ball{}, false
	}
	low := max(x.low(), y.low())
	return rounded(angle(x.re, y.re), nil, sumOf(x.err-low+1, y.err-low+1, -x.bits()))
}

// other is the root of 1 − b², the cosine for a sine and the other way round.
func other(b ball) (ball, bool) {
	square, ok := b.mul(b)
	if !ok {
		return ball{}, false
	}
	rest, ok := b.whole(1).add(square.neg())
	if !ok {
		return ball{}, false
	}
	return rest.sqrt()
}
