package algebra

import (
	"math"
	"math/big"
)

// number is a complex number: a rational one, exact, where rat is not nil, and else one
// that is known up to an error. What has no value is a number with an error beyond all
// bounds, and so is all that is computed of it.
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

// undefined has an error that is large even beside zero.
var undefined = number{re: new(big.Float), err: 1e18}

// defined reports whether n has a value, and one that is not too large.
func (n number) defined() bool { return n.rat != nil || n.err < maxExp }

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

// isInt reports whether n is an integer, exactly.
func (n number) isInt() bool { return n.rat != nil && n.rat.IsInt() }

// zero reports whether n may be zero.
func (n number) zero() bool {
	if n.rat != nil {
		return n.rat.Sign() == 0
	}
	return n.size() <= n.err+1
}

func rational(r *big.Rat) number { return number{rat: r} }

func integer(n *big.Int) number { return rational(new(big.Rat).SetInt(n)) }

func whole(n int64) number { return rational(big.NewRat(n, 1)) }

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
// one where the second part may be zero.
func (p *evaluator) made(re, im *big.Float, err float64) number {
	n := number{re: re, im: im}
	n.err = max(absent, joined(err, n.size()+4-float64(p.prec)))
	if size2(im) <= n.err {
		n.im = nil
	}
	if !p.inner && (n.size() > maxExp || n.err >= maxExp) {
		return undefined
	}
	return n
}

// joined is the binary logarithm of the sum of two powers of two.
func joined(a, b float64) float64 { return max(a, b) + math.Log2(1+math.Exp2(-math.Abs(a-b))) }

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

func (p *evaluator) add(a, b number) number {
	if a.rat != nil && b.rat != nil && bits(a.rat)+bits(b.rat) <= maxBits {
		return rational(new(big.Rat).Add(a.rat, b.rat))
	}
	re, im, errA := p.parts(a)
	x, y, errB := p.parts(b)
	return p.made(p.float().Add(re, x), p.float().Add(im, y), joined(errA, errB))
}

func (p *evaluator) mul(a, b number) number {
	if a.rat != nil && b.rat != nil && bits(a.rat)+bits(b.rat) <= maxBits {
		return rational(new(big.Rat).Mul(a.rat, b.rat))
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

// inverse is 1/n. It is undefined for what may be zero.
func (p *evaluator) inverse(n number) number {
	err := n.err - 2*n.size() + 3
	switch {
	case n.zero():
		return undefined
	case n.rat != nil:
		return rational(new(big.Rat).Inv(n.rat))
	case n.isReal():
		return p.made(p.float().Quo(p.float().SetInt64(1), n.re), nil, err)
	}
	norm := p.norm(n)
	im := p.float().Quo(n.im, norm)
	return p.made(p.float().Quo(n.re, norm), im.Neg(im), err)
}

// norm is the square of the absolute value of n.
func (p *evaluator) norm(n number) *big.Float {
	norm := p.float().Mul(n.re, n.re)
	return norm.Add(norm, p.float().Mul(n.im, n.im))
}

// abs is the absolute value of n.
func (p *evaluator) abs(n number) number {
	switch {
	case !n.isReal():
		norm := p.norm(n)
		return p.made(norm.Sqrt(norm), nil, n.err)
	case n.sign() < 0:
		return p.neg(n)
	}
	return n
}

// floor is the greatest integer that is no more than a real number. One that may be an
// integer is one.
func (p *evaluator) floor(n number) number {
	switch {
	case n.rat != nil:
		return integer(floor(n.rat))
	case !n.defined() || !n.isReal() || n.size() > float64(p.prec)/2:
		return undefined
	}
	r, _ := n.re.Rat(nil)
	nearest := floor(new(big.Rat).Add(r, half))
	if off := p.float().Sub(n.re, p.float().SetInt(nearest)); off.Sign() < 0 && size2(off) > n.err+1 {
		nearest.Sub(nearest, big.NewInt(1))
	}
	return integer(nearest)
}

// floor is the greatest integer that is no more than r.
func floor(r *big.Rat) *big.Int {
	return new(big.Int).Div(r.Num(), r.Denom()) // Euclidean, and the denominator is positive
}
