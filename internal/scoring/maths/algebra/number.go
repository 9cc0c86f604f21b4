package algebra

import (
	"math"
	"math/big"
)

// number is a complex number: a rational one, exact, where rat is not nil, and else one
// that is known up to an error.
type number struct {
	rat    *big.Rat
	re, im *big.Float // im is nil for a real number
	err    float64    // the binary logarithm of the bound of the error
}

const (
	maxBits = 1 << 18 // of the numerator and the denominator of an exact number
	maxExp  = 1e5     // of a value, binary: beyond, it counts as undefined
	absent  = -1e9    // the binary exponent of zero
)

// bits is the length of r in bits.
func bits(r *big.Rat) int { return r.Num().BitLen() + r.Denom().BitLen() }

// size2 is e such that 2^(e-1) <= |f| < 2^e, and very low for zero.
func size2(f *big.Float) float64 {
	if f == nil || f.Sign() == 0 {
		return absent
	}
	return float64(f.MantExp(nil))
}

// size is the binary logarithm of the size of n, within 1.
func (n number) size() float64 {
	switch {
	case n.rat == nil:
		return max(size2(n.re), size2(n.im))
	case n.rat.Sign() == 0:
		return absent
	}
	return float64(n.rat.Num().BitLen() - n.rat.Denom().BitLen())
}

// sign is the sign of the real part.
func (n number) sign() int {
	if n.rat != nil {
		return n.rat.Sign()
	}
	return n.re.Sign()
}

// isReal reports whether n has no imaginary part.
func (n number) isReal() bool { return n.im == nil }

func rational(r *big.Rat) number { return number{rat: r} }

func whole(n int64) number { return number{rat: big.NewRat(n, 1)} }

// float is zero to the precision of p.
func (p *evaluator) float() *big.Float { return new(big.Float).SetPrec(p.prec) }

// parts are the real and the imaginary part of n to the precision of p, and their error.
func (p *evaluator) parts(n number) (re, im *big.Float, err float64) {
	if n.rat != nil {
		re, err = p.float().SetRat(n.rat), absent
		if re.Acc() != big.Exact {
			err = n.size() - float64(p.prec)
		}
		return re, p.float(), err
	}
	if n.im == nil {
		return n.re, p.float(), n.err
	}
	return n.re, n.im, n.err
}

// made is a number of two parts with the error of their operands, and of rounding; a real
// one where the second part may be zero. It is false for one that is too large.
func (p *evaluator) made(re, im *big.Float, err float64) (number, bool) {
	n := number{re: re, im: im}
	n.err = max(absent, joined(err, n.size()+4-float64(p.prec)))
	if size2(im) <= n.err {
		n.im = nil
	}
	return n, n.size() <= maxExp && n.err < maxExp
}

// joined is the binary logarithm of the sum of two powers of two.
func joined(a, b float64) float64 { return max(a, b) + math.Log2(1+math.Exp2(-math.Abs(a-b))) }

// error is the binary logarithm of the bound of the error of n.
func (n number) error() float64 {
	if n.rat != nil {
		return absent
	}
	return n.err
}

// zero reports whether n may be zero.
func (n number) zero() bool { return n.size() <= n.error()+1 }

func (p *evaluator) neg(n number) number {
	if n.rat != nil {
		return rational(new(big.Rat).Neg(n.rat))
	}
	n.re = p.float().Neg(n.re)
	if n.im != nil {
		n.im = p.float().Neg(n.im)
	}
	return n
}

func (p *evaluator) add(a, b number) (number, bool) {
	if a.rat != nil && b.rat != nil && bits(a.rat)+bits(b.rat) <= maxBits {
		return rational(new(big.Rat).Add(a.rat, b.rat)), true
	}
	re, im, errA := p.parts(a)
	x, y, errB := p.parts(b)
	return p.made(p.float().Add(re, x), p.float().Add(im, y), joined(errA, errB))
}

func (p *evaluator) mul(a, b number) (number, bool) {
	if a.rat != nil && b.rat != nil && bits(a.rat)+bits(b.rat) <= maxBits {
		return rational(new(big.Rat).Mul(a.rat, b.rat)), true
	}
	re, im, errA := p.parts(a)
	x, y, errB := p.parts(b)
	err := joined(a.size()+errB, b.size()+errA)
	if a.isReal() && b.isReal() {
		return p.made(p.float().Mul(re, x), nil, err)
	}
	r, s := p.float().Mul(re, x), p.float().Mul(re, y)
	err = joined(err, a.size()+b.size()-float64(p.prec))
	return p.made(r.Sub(r, p.float().Mul(im, y)), s.Add(s, p.float().Mul(im, x)), err)
}

// inverse is 1/n. It is unknown for what may be zero.
func (p *evaluator) inverse(n number) (number, bool) {
	err := n.error() - 2*n.size() + 3
	switch {
	case n.zero():
		return n, false
	case n.rat != nil:
		return rational(new(big.Rat).Inv(n.rat)), true
	case n.isReal():
		return p.made(p.float().Quo(p.float().SetInt64(1), n.re), nil, err)
	}
	norm := p.float().Mul(n.re, n.re)
	norm.Add(norm, p.float().Mul(n.im, n.im))
	im := p.float().Quo(n.im, norm)
	return p.made(p.float().Quo(n.re, norm), im.Neg(im), err)
}

// abs is the absolute value of n.
func (p *evaluator) abs(n number) (number, bool) {
	if n.isReal() {
		if n.sign() < 0 {
			n = p.neg(n)
		}
		return n, true
	}
	norm := p.float().Mul(n.re, n.re)
	norm.Add(norm, p.float().Mul(n.im, n.im))
	return p.made(norm.Sqrt(norm), nil, n.error())
}

// exp is e to the n: its series for n over a power of two, squared as often.
func (p *evaluator) exp(n number) (number, bool) {
	if n.rat != nil && n.zero() {
		return whole(1), true
	}
	re, im, err := p.parts(n)
	if size2(re) > 18 || size2(im) > 60 || err > -2 || p.prec == 0 {
		return n, false
	}
	halvings := max(0, int(n.size())) + int(math.Sqrt(float64(p.prec)))/2
	q := &evaluator{prec: p.prec + uint(2*halvings) + 32}
	step := number{re: q.float().SetMantExp(q.float().Set(re), -halvings), err: absent}
	if !n.isReal() {
		step.im = q.float().SetMantExp(q.float().Set(im), -halvings)
	}
	sum, term := whole(1), whole(1)
	for k := int64(1); term.size() > -float64(q.prec); k++ {
		term, _ = q.mul(term, step)
		for _, part := range []*big.Float{term.re, term.im} {
			if part != nil {
				part.Quo(part, new(big.Float).SetInt64(k))
			}
		}
		sum, _ = q.add(sum, term)
	}
	for range halvings {
		sum, _ = q.mul(sum, sum)
	}
	re, im, _ = q.parts(sum)
	if re.SetPrec(p.prec); n.isReal() {
		im = nil
	} else {
		im.SetPrec(p.prec)
	}
	return p.made(re, im, sum.size()+err+1)
}

// ln is the principal natural logarithm, by Halley's method.
func (p *evaluator) ln(n number) (number, bool) {
	if n.rat != nil && n.rat.Cmp(big.NewRat(1, 1)) == 0 {
		return whole(0), true
	} else if n.zero() || p.prec == 0 {
		return n, false
	}
	re, im, err := p.parts(n)
	scale := int(n.size())
	x, _ := p.float().SetMantExp(re, -scale).Float64()
	y, _ := p.float().SetMantExp(im, -scale).Float64()
	w := number{re: p.float().SetFloat64(math.Log(math.Hypot(x, y)) + float64(scale)*math.Ln2), im: p.float().SetFloat64(math.Atan2(y, x)), err: absent}
	if n.isReal() && n.sign() > 0 {
		w.im = nil
	}
	for right := uint(40); right < p.prec; right *= 3 { // with n = t·exp(w), w is off by 2(t − 1)/(t + 1)
		q := &evaluator{prec: min(p.prec, 3*right+64)}
		t, _ := q.exp(q.neg(w))
		t, _ = q.mul(t, number{re: re, im: im, err: absent})
		above, _ := q.add(t, whole(-1))
		below, _ := q.add(t, whole(1))
		below, _ = q.inverse(below)
		off, _ := q.mul(above, below)
		off, _ = q.mul(off, whole(2))
		w, _ = p.add(w, off)
		w.err = absent // the next step mends it
	}
	w.err = joined(err-n.size()+2, max(w.size(), 0)+8-float64(p.prec)) // an absolute error: it may be near zero
	return w, true
}

// angle is the argument of x + iy, for real numbers that are not both zero.
func (p *evaluator) angle(x, y number) (number, bool) {
	if !x.isReal() || !y.isReal() || x.zero() && y.zero() {
		return x, false
	}
	re, _, errX := p.parts(x)
	im, _, errY := p.parts(y)
	l, ok := p.ln(number{re: re, im: im, err: joined(errX, errY)})
	if !ok || l.im == nil {
		return whole(0), ok
	}
	return number{re: l.im, err: l.err}, true
}

// power is a to the b, the principal value, except that with odd roots a negative number
// to the power of a fraction with an odd denominator is real, as it is in school.
func (p *evaluator) power(a, b number, oddRoots bool) (number, bool) {
	r := b.rat
	switch {
	case r != nil && r.IsInt() && r.Num().IsInt64() && r.Num().BitLen() <= 17:
		return p.integerPower(a, r.Num().Int64())
	case a.zero():
		return whole(0), b.isReal() && b.sign() > 0 && !b.zero()
	case r != nil && oddRoots && a.isReal() && a.sign() < 0 && r.Denom().Bit(0) == 1:
		root, ok := p.power(p.neg(a), b, false)
		if r.Num().Bit(0) == 1 {
			root = p.neg(root)
		}
		return root, ok
	case r != nil && a.isReal() && a.sign() > 0 && r.Cmp(half) == 0:
		return p.sqrt(a)
	case r != nil && !r.IsInt() && a.rat != nil && a.sign() > 0:
		if root, ok := exactRoot(a.rat, r.Denom()); ok {
			return p.power(rational(root), rational(new(big.Rat).SetInt(r.Num())), false)
		}
	}
	l, ok := p.ln(a)
	if !ok {
		return a, false
	}
	if l, ok = p.mul(l, b); !ok {
		return a, false
	}
	return p.exp(l)
}

// exactRoot is the root of a positive rational number, if it is one.
func exactRoot(r *big.Rat, degree *big.Int) (*big.Rat, bool) {
	var parts [2]*big.Int
	for i, n := range [...]*big.Int{r.Num(), r.Denom()} {
		f, _ := new(big.Float).SetInt(n).Float64()
		d, _ := new(big.Float).SetInt(degree).Float64()
		if parts[i] = new(big.Int).Sqrt(n); d != 2 {
			parts[i], _ = big.NewFloat(math.Round(math.Pow(min(f, math.MaxFloat64), 1/d))).Int(nil)
		}
		if float64(parts[i].BitLen()-1)*d > float64(n.BitLen()) || new(big.Int).Exp(parts[i], degree, nil).Cmp(n) != 0 {
			return nil, false
		}
	}
	return new(big.Rat).SetFrac(parts[0], parts[1]), true
}

func (p *evaluator) integerPower(a number, n int64) (number, bool) {
	if n <= 0 && a.zero() {
		return a, false
	} else if n < 0 {
		inverse, ok := p.inverse(a)
		if !ok {
			return a, false
		}
		return p.integerPower(inverse, -n)
	}
	result, ok := whole(1), true
	for ; n > 0 && ok; n >>= 1 {
		if n&1 == 1 {
			if result, ok = p.mul(result, a); !ok {
				break
			}
		}
		if n > 1 {
			a, ok = p.mul(a, a)
		}
	}
	return result, ok
}

var half = big.NewRat(1, 2)

// sqrt is the principal square root.
func (p *evaluator) sqrt(n number) (number, bool) {
	if n.rat != nil && n.zero() {
		return n, true
	} else if n.zero() { // the root of what is at most 2^(err+2) in size
		return number{re: p.float(), err: n.err/2 + 1}, n.err < -float64(p.prec)/2
	} else if !n.isReal() {
		return p.power(n, rational(half), false)
	} else if n.rat != nil && n.sign() > 0 {
		if root, ok := exactRoot(n.rat, big.NewInt(2)); ok {
			return rational(root), true
		}
	}
	if p.prec == 0 {
		return n, false
	}
	re, _, err := p.parts(n)
	root := p.float().Sqrt(p.float().Abs(re))
	if err := err - n.size()/2 + 1; n.sign() > 0 {
		return p.made(root, nil, err)
	} else {
		return p.made(p.float(), root, err)
	}
}
