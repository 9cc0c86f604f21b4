package algebra

import (
	"math"
	"math/big"
)

// exp is e to the n: its series for n over a power of two, squared as often.
func (p *evaluator) exp(n number) number {
	if n.rat != nil && n.zero() {
		return whole(1)
	}
	re, im, err := p.parts(n)
	if size2(re) > 18 || size2(im) > 60 || err > -2 || p.prec == 0 {
		return undefined
	}
	halvings := max(0, int(n.size())) + int(math.Sqrt(float64(p.prec)))/2
	q := &evaluator{prec: p.prec + uint(2*halvings) + 32, inner: true}
	step := number{re: q.float().SetMantExp(q.float().Set(re), -halvings), err: absent}
	if !n.isReal() {
		step.im = q.float().SetMantExp(q.float().Set(im), -halvings)
	}
	sum, term := whole(1), whole(1)
	for k := int64(1); term.size() > -float64(q.prec); k++ {
		term = q.mul(term, step)
		for _, part := range []*big.Float{term.re, term.im} {
			if part != nil {
				part.Quo(part, new(big.Float).SetInt64(k))
			}
		}
		sum = q.add(sum, term)
	}
	for range halvings {
		sum = q.mul(sum, sum)
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
func (p *evaluator) ln(n number) number {
	if n.rat != nil && n.rat.Cmp(big.NewRat(1, 1)) == 0 {
		return whole(0)
	} else if n.zero() || p.prec == 0 {
		return undefined
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
		q := &evaluator{prec: min(p.prec, 3*right+64), inner: true}
		t := q.mul(q.exp(q.neg(w)), number{re: re, im: im, err: absent})
		off := q.mul(q.add(t, whole(-1)), q.inverse(q.add(t, whole(1))))
		w = p.add(w, q.mul(off, whole(2)))
		w.err = absent // the next step mends it
	}
	w.err = joined(err-n.size()+2, max(w.size(), 0)+8-float64(p.prec)) // an absolute error: it may be near zero
	return w
}

// circular is the cosine of a real number or its sine, the parts of e^in.
func (p *evaluator) circular(n number, cosine bool) number {
	switch {
	case !n.isReal():
		return undefined
	case n.rat != nil && n.zero() && cosine:
		return whole(1)
	case n.rat != nil && n.zero():
		return n
	}
	i := number{re: p.float(), im: p.float().SetInt64(1), err: absent}
	e := p.exp(p.mul(i, n))
	re, im, err := p.parts(e)
	if cosine {
		return p.made(re, nil, err)
	}
	return p.made(im, nil, err)
}

// angle is the argument of x + iy, for real numbers that are not both zero.
func (p *evaluator) angle(x, y number) number {
	if !x.isReal() || !y.isReal() || x.zero() && y.zero() {
		return undefined
	}
	re, _, errX := p.parts(x)
	im, _, errY := p.parts(y)
	switch l := p.ln(number{re: re, im: im, err: joined(errX, errY)}); {
	case !l.defined():
		return undefined
	case l.im == nil:
		return whole(0)
	default:
		return number{re: l.im, err: l.err}
	}
}

// power is a to the b, the principal value, except that without complex numbers a negative
// number to the power of a fraction with an odd denominator is real, as it is in school.
func (p *evaluator) power(a, b number) number {
	r := b.rat
	switch {
	case !a.defined() || !b.defined():
		return undefined
	case r != nil && r.IsInt() && r.Num().IsInt64() && r.Num().BitLen() <= 17:
		return p.integerPower(a, r.Num().Int64())
	case a.zero():
		if b.isReal() && b.sign() > 0 && !b.zero() {
			return whole(0)
		}
		return undefined
	case r != nil && !p.complex && a.isReal() && a.sign() < 0 && r.Denom().Bit(0) == 1:
		root := p.power(p.neg(a), b)
		if r.Num().Bit(0) == 1 {
			root = p.neg(root)
		}
		return root
	case r != nil && a.isReal() && a.sign() > 0 && r.Cmp(half) == 0:
		return p.sqrt(a)
	case r != nil && !r.IsInt() && a.rat != nil && a.sign() > 0:
		if root, ok := exactRoot(a.rat, r.Denom()); ok {
			return p.power(rational(root), integer(r.Num()))
		}
	}
	return p.exp(p.mul(p.ln(a), b))
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

func (p *evaluator) integerPower(a number, n int64) number {
	if n <= 0 && a.zero() {
		return undefined
	} else if n < 0 {
		a, n = p.inverse(a), -n
	}
	result := whole(1)
	for ; n > 0 && a.defined() && result.defined(); n >>= 1 {
		if n&1 == 1 {
			result = p.mul(result, a)
		}
		if n > 1 {
			a = p.mul(a, a)
		}
	}
	if n > 0 {
		return undefined
	}
	return result
}

var half = big.NewRat(1, 2)

// sqrt is the principal square root.
func (p *evaluator) sqrt(n number) number {
	switch {
	case n.rat != nil && n.zero():
		return n
	case n.zero() && n.err < -float64(p.prec)/2: // the root of what is at most 2^(err+2) in size
		return number{re: p.float(), err: n.err/2 + 1}
	case n.zero():
		return undefined
	case !n.isReal():
		return p.power(n, rational(half))
	case n.rat != nil && n.sign() > 0:
		if root, ok := exactRoot(n.rat, big.NewInt(2)); ok {
			return rational(root)
		}
	}
	if p.prec == 0 {
		return undefined
	}
	re, _, err := p.parts(n)
	root := p.float().Sqrt(p.float().Abs(re))
	if err += 1 - n.size()/2; n.sign() > 0 {
		return p.made(root, nil, err)
	}
	return p.made(p.float(), root, err)
}
