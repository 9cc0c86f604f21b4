package algebra

import (
	"math"
	"math/big"
)

const (
	precision = 192  // of results, in bits
	working   = 240  // precision of intermediate results
	maxExp    = 1e5  // of a value, binary: beyond, it counts as undefined
	exactly   = -1e9 // the error of an exact value
)

// ball is a complex number that is known up to an error: the true value is no
// farther from (re, im) than 2 to the err.
type ball struct {
	re, im *big.Float // im is nil for a real number
	err    float64    // the binary logarithm of the bound
}

func newFloat() *big.Float { return new(big.Float).SetPrec(working) }

// whole is the integer n.
func whole(n int64) ball { return ball{re: newFloat().SetInt64(n), err: exactly} }

// rational is r, rounded.
func rational(r *big.Rat) ball {
	b := ball{re: newFloat().SetRat(r), err: exactly}
	if b.re.Acc() != big.Exact {
		b.err = b.high() - precision
	}
	return b
}

// rounded adds to a result the error of computing it, and makes it real if its
// imaginary part may be zero. The second value is false if nothing is known of
// the result.
func rounded(re, im *big.Float, err float64) (ball, bool) {
	b := ball{re, im, err}
	high := b.high()
	if high > maxExp || math.IsNaN(err) {
		return ball{}, false
	}
	b.err = sumOf(err, high-precision)
	if im != nil && (im.Sign() == 0 || float64(im.MantExp(nil)) <= b.err) {
		b.im = nil
	}
	return b, b.err < maxExp
}

// sumOf bounds the binary logarithm of the sum of powers of two.
func sumOf(exponents ...float64) float64 {
	most, n := math.Inf(-1), 0.0
	for _, e := range exponents {
		most = max(most, e)
	}
	if most <= exactly {
		return exactly
	}
	for _, e := range exponents {
		if e > most-64 {
			n += math.Exp2(e - most)
		} else {
			n += 0x1p-60
		}
	}
	return most + math.Log2(n)
}

// exponent is e such that 2^(e-1) <= |f| < 2^e, and very low for zero.
func exponent(f *big.Float) float64 {
	if f == nil || f.Sign() == 0 {
		return exactly
	}
	return float64(f.MantExp(nil))
}

// high bounds the binary logarithm of the size of b from above, without its
// error.
func (b ball) high() float64 {
	e := exponent(b.re)
	if b.im == nil {
		return e
	}
	return max(e, exponent(b.im)) + 0.5
}

// low bounds the binary logarithm of the size of b from below.
func (b ball) low() float64 { return max(exponent(b.re), exponent(b.im)) - 1 }

// nought tells whether b may be zero.
func (b ball) nought() bool { return b.low() <= b.err+1 }

// zero tells whether b is zero for certain.
func (b ball) zero() bool { return b.err <= exactly && b.re.Sign() == 0 && b.im == nil }

func (b ball) imaginary() *big.Float {
	if b.im == nil {
		return newFloat()
	}
	return b.im
}

func (b ball) neg() ball {
	n := ball{re: newFloat().Neg(b.re), err: b.err}
	if b.im != nil {
		n.im = newFloat().Neg(b.im)
	}
	return n
}

func (b ball) add(c ball) (ball, bool) {
	re := newFloat().Add(b.re, c.re)
	var im *big.Float
	if b.im != nil || c.im != nil {
		im = newFloat().Add(b.imaginary(), c.imaginary())
	}
	err := sumOf(b.err, c.err)
	if err <= exactly && im == nil && re.Acc() == big.Exact {
		return ball{re: re, err: exactly}, true
	}
	return rounded(re, im, err) // where terms cancel, nothing is rounded
}

func (b ball) mul(c ball) (ball, bool) {
	err := sumOf(b.high()+c.err, c.high()+b.err, b.err+c.err)
	if b.err <= exactly && c.err <= exactly {
		err = exactly
	}
	if b.im == nil && c.im == nil {
		re := newFloat().Mul(b.re, c.re)
		if err <= exactly && re.Acc() == big.Exact && exponent(re) < maxExp {
			return ball{re: re, err: exactly}, true
		}
		return rounded(re, nil, err)
	}
	p, q := newFloat().Mul(b.re, c.re), newFloat().Mul(b.imaginary(), c.imaginary())
	r, s := newFloat().Mul(b.re, c.imaginary()), newFloat().Mul(b.imaginary(), c.re)
	return rounded(p.Sub(p, q), r.Add(r, s), sumOf(err, b.high()+c.high()-precision))
}

// inverse is 1/b. It is unknown for what may be zero.
func (b ball) inverse() (ball, bool) {
	if b.re.Sign() == 0 && b.im == nil || b.low() < b.err+2 {
		return ball{}, false
	}
	err := b.err - 2*b.low() + 1
	if b.err <= exactly {
		err = exactly
	}
	if b.im == nil {
		return rounded(newFloat().Quo(newFloat().SetInt64(1), b.re), nil, err)
	}
	norm := newFloat().Mul(b.re, b.re)
	norm.Add(norm, newFloat().Mul(b.im, b.im))
	im := newFloat().Quo(b.im, norm)
	return rounded(newFloat().Quo(b.re, norm), im.Neg(im), err)
}

// size is the absolute value of b.
func (b ball) size() (ball, bool) {
	if b.im == nil {
		return ball{re: newFloat().Abs(b.re), err: b.err}, true
	}
	norm := newFloat().Mul(b.re, b.re)
	norm.Add(norm, newFloat().Mul(b.im, b.im))
	return rounded(norm.Sqrt(norm), nil, b.err)
}

// sqrt is the principal square root.
func (b ball) sqrt() (ball, bool) {
	if b.zero() {
		return b, true
	}
	if b.nought() { // the root of what is at most 2^(err+2) in size
		return ball{re: newFloat(), err: b.err/2 + 1}, b.err < -100
	}
	err := b.err - b.low()/2
	if b.err <= exactly {
		err = exactly
	}
	if b.im == nil {
		root := newFloat().Sqrt(newFloat().Abs(b.re))
		if b.re.Sign() > 0 {
			return rounded(root, nil, err)
		}
		return rounded(newFloat(), root, err)
	}
	half, _ := whole(2).inverse()
	return power(b, half)
}

// integer is b as an integer, if it is as good as one.
func (b ball) integer() (int64, bool) {
	if b.im != nil || exponent(b.re) > 60 || b.err > -60 {
		return 0, false
	}
	n, _ := newFloat().Add(b.re, big.NewFloat(math.Copysign(0.5, signOf(b.re)))).Int64()
	off := newFloat().Sub(b.re, newFloat().SetInt64(n))
	return n, exponent(off) <= max(b.err, -150) || off.Sign() == 0
}

func signOf(f *big.Float) float64 { return float64(f.Sign()) }
