package algebra

import (
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// poly is a sum of terms with different monomials. The key of a monomial is its
// spelling, "" for 1.
type poly map[string]term

// term is a rational number other than zero times a monomial: a product of powers of
// atoms, sorted by atom.
type term struct {
	coef    *big.Rat
	factors []factor
}

// factor is an atom to a rational power. The first byte of an atom is its kind.
type factor struct {
	atom string
	exp  frac
}

// The kinds of atoms. Powers of the kinds before opaque have no relations but the ones that
// canonical applies.
const (
	variable = 'v' // a variable
	prime    = 'p' // a prime number, to a power from 0 to below 1
	constant = 'c' // π or e
	unit     = 'i' // the imaginary unit, to the power 1
	exponent = 'x' // a base to a monomial
	opaque   = 'o' // any other expression
)

// frac is a small fraction in lowest terms.
type frac struct{ n, d int64 }

const maxFrac = 1 << 30

func whole(n int64) frac { return frac{n, 1} }

func (a frac) plus(b frac) frac  { return lowest(a.n*b.d+b.n*a.d, a.d*b.d) }
func (a frac) times(b frac) frac { return lowest(a.n*b.n, a.d*b.d) }

func lowest(n, d int64) frac {
	a, b := max(n, -n), d
	for b != 0 {
		a, b = b, a%b
	}
	return frac{n / a, d / a}
}

// small is r as a frac.
func small(r *big.Rat) (frac, bool) {
	if !r.Num().IsInt64() || !r.Denom().IsInt64() {
		return frac{}, false
	}
	f := frac{r.Num().Int64(), r.Denom().Int64()}
	return f, f.fits()
}

func (a frac) fits() bool { return max(a.n, -a.n) < maxFrac && a.d < maxFrac }

// floor is the greatest integer that is no more than a.
func (a frac) floor() int64 {
	if q := a.n / a.d; a.n >= 0 || q*a.d == a.n {
		return q
	}
	return a.n/a.d - 1
}

func key(factors []factor) string {
	if len(factors) == 0 {
		return ""
	}
	var b strings.Builder
	for _, f := range factors {
		b.WriteString(f.atom)
		if f.exp != whole(1) {
			b.WriteByte('^')
			b.WriteString(strconv.FormatInt(f.exp.n, 10))
			if f.exp.d != 1 {
				b.WriteByte('/')
				b.WriteString(strconv.FormatInt(f.exp.d, 10))
			}
		}
		b.WriteByte(' ')
	}
	return b.String()
}

// number is a rational number as a polynomial.
func number(r *big.Rat) poly {
	if r.Sign() == 0 {
		return poly{}
	}
	return poly{"": {coef: r}}
}

// single is the only term of p.
func (p poly) single() (term, bool) {
	if len(p) == 1 {
		for _, t := range p {
			return t, true
		}
	}
	return term{}, false
}

// rational is the value of p if that is a rational number.
func (p poly) rational() (*big.Rat, bool) {
	if len(p) == 0 {
		return new(big.Rat), true
	}
	t, ok := p[""]
	return t.coef, ok && len(p) == 1
}

// spelling is the same for polynomials that are equal term by term.
func (p poly) spelling() string {
	terms := make([]string, 0, len(p))
	for k, t := range p {
		terms = append(terms, t.coef.RatString()+" "+k)
	}
	slices.Sort(terms)
	return strings.Join(terms, "+")
}

// include adds t to p, which it changes.
func (p poly) include(t term) {
	k := key(t.factors)
	old, ok := p[k]
	if !ok {
		p[k] = t
		return
	}
	sum := new(big.Rat).Add(old.coef, t.coef)
	if sum.Sign() == 0 {
		delete(p, k)
		return
	}
	p[k] = term{sum, old.factors}
}

// add is p + sign·q.
func (x *former) add(p, q poly, sign int) poly {
	if !x.spend(copyCost * len(p)) {
		return nil
	}
	sum := make(poly, len(p)+len(q))
	for k, t := range p {
		sum[k] = t
	}
	for _, t := range q {
		if !x.spend(size(t.coef)) {
			return nil
		}
		if sign < 0 {
			t.coef = new(big.Rat).Neg(t.coef)
		}
		sum.include(t)
	}
	return sum
}

// multiply is p·q, and nil beyond the bounds of work.
func (x *former) multiply(p, q poly) poly {
	product := make(poly, len(p)*len(q))
	for _, s := range p {
		for _, t := range q {
			u, ok := x.times(s, t)
			if !ok || len(product) > maxTerms {
				return nil
			}
			product.include(u)
		}
	}
	return product
}

func (x *former) times(s, t term) (term, bool) {
	bits := size(s.coef) + size(t.coef)
	if bits > maxBits || !x.spend(bits+termCost) {
		return term{}, false
	}
	u := term{coef: new(big.Rat).Mul(s.coef, t.coef)}
	switch {
	case len(s.factors) == 0:
		u.factors = t.factors
		return u, true
	case len(t.factors) == 0:
		u.factors = s.factors
		return u, true
	}
	a, b := s.factors, t.factors
	for len(a) > 0 || len(b) > 0 {
		var f factor
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].atom < b[0].atom:
			f, a = a[0], a[1:]
		case len(a) == 0 || b[0].atom < a[0].atom:
			f, b = b[0], b[1:]
		default:
			f = factor{a[0].atom, a[0].exp.plus(b[0].exp)}
			a, b = a[1:], b[1:]
		}
		if !x.multiplyBy(&u, f) {
			return u, false
		}
	}
	return u, true
}

// multiplyBy adds a factor behind the factors of t, reduced by the relations of its atom.
func (x *former) multiplyBy(t *term, f factor) bool {
	if !f.exp.fits() {
		return false
	}
	switch f.atom[0] {
	case prime:
		n := f.exp.floor()
		if n != 0 {
			p, _ := new(big.Int).SetString(f.atom[1:], 10)
			power := x.integerPower(new(big.Rat).SetInt(p), n)
			if power == nil {
				return false
			}
			t.coef = new(big.Rat).Mul(t.coef, power)
			f.exp.n -= n * f.exp.d
		}
	case unit:
		if f.exp.d != 1 {
			return false
		}
		n := (f.exp.n%4 + 4) % 4
		if n >= 2 {
			t.coef = new(big.Rat).Neg(t.coef)
		}
		f.exp.n = n % 2
	}
	if f.exp.n != 0 {
		t.factors = append(t.factors, f)
	}
	return true
}

// integerPower is r to the n, for r other than zero.
func (x *former) integerPower(r *big.Rat, n int64) *big.Rat {
	if r.IsInt() && r.Num().BitLen() == 1 {
		if r.Sign() > 0 || n%2 == 0 {
			return big.NewRat(1, 1)
		}
		return big.NewRat(-1, 1)
	}
	m := max(n, -n)
	if m > maxBits || !x.spend(size(r)*int(m)) || size(r)*int(m) > maxBits {
		return nil
	}
	e := big.NewInt(m)
	p, q := new(big.Int).Exp(r.Num(), e, nil), new(big.Int).Exp(r.Denom(), e, nil)
	if n < 0 {
		p, q = q, p
	}
	return new(big.Rat).SetFrac(p, q)
}

// raise is a term to a rational power: one that is whole, or one of a positive number
// and of atoms that are positive or of the first power.
func (x *former) raise(t term, e frac) (term, bool) {
	u := term{coef: one}
	if e.d == 1 {
		if u.coef = x.integerPower(t.coef, e.n); u.coef == nil {
			return u, false
		}
	} else if root, ok := x.rootOf(t.coef, e, len(t.factors) > 0); ok {
		u = root
	} else {
		return u, false
	}
	power := term{coef: one}
	others := 0
	for _, f := range t.factors {
		if f.atom[0] == variable || f.atom[0] == opaque || f.atom[0] == unit || f.atom[0] == exponent && f.atom[1] == variable {
			if others++; e.d != 1 && (others > 1 || f.exp != whole(1) || f.atom[0] == unit) {
				return u, false
			}
		}
		if f.exp = f.exp.times(e); !x.multiplyBy(&power, f) {
			return u, false
		}
	}
	return x.times(u, power)
}

// rootOf is a rational number to the power of a fraction, by its prime factors.
func (x *former) rootOf(r *big.Rat, e frac, factors bool) (term, bool) {
	u := term{coef: one}
	if r.Sign() < 0 {
		switch {
		case factors:
			return u, false
		case e.d == 2:
			u.factors = []factor{{string(unit), whole(1)}}
			if e.n%4 != 1 && e.n%4 != -3 {
				return u, false
			}
		case x.complex || e.d%2 == 0:
			return u, false
		case e.n%2 != 0:
			u.coef = big.NewRat(-1, 1)
		}
		r = new(big.Rat).Neg(r)
	}
	powers, ok := x.factorize(r)
	if !ok {
		return u, false
	}
	root := term{coef: one}
	for _, f := range powers {
		if f.exp = f.exp.times(e); !x.multiplyBy(&root, f) {
			return u, false
		}
	}
	return x.times(u, root)
}

// maxFactored bounds numbers that are factorized, in bits.
const maxFactored = 2000

// factorize is a positive rational number as powers of primes, sorted by atom. A large
// factor may not be prime: then there may be relations between roots.
func (x *former) factorize(r *big.Rat) ([]factor, bool) {
	if size(r) > maxFactored {
		return nil, false
	}
	var powers []factor
	for sign, part := range []*big.Int{r.Num(), r.Denom()} {
		if part.BitLen() == 1 {
			continue
		}
		rest, q, m := new(big.Int).Set(part), new(big.Int), new(big.Int)
		for d := int64(2); d < 1000 && rest.BitLen() > 1 && (rest.BitLen() > 20 || d*d <= rest.Int64()); d++ {
			n := int64(0)
			for rest.IsInt64() && rest.Int64()%d == 0 {
				rest.SetInt64(rest.Int64() / d)
				n++
			}
			for !rest.IsInt64() {
				if q.QuoRem(rest, m.SetInt64(d), m); m.Sign() != 0 {
					break
				}
				rest.Set(q)
				n++
			}
			if n > 0 {
				powers = append(powers, primePower(strconv.FormatInt(d, 10), n, sign))
			}
		}
		if rest.BitLen() > 1 {
			n := int64(1)
			if root := new(big.Int).Sqrt(rest); new(big.Int).Mul(root, root).Cmp(rest) == 0 {
				rest, n = root, 2
			}
			powers = append(powers, primePower(rest.String(), n, sign))
			x.unsure = x.unsure || rest.BitLen() > 20 && !rest.ProbablyPrime(0)
		}
	}
	slices.SortFunc(powers, func(a, b factor) int { return strings.Compare(a.atom, b.atom) })
	return powers, !slices.ContainsFunc(powers, func(f factor) bool { return !f.exp.fits() }) && distinct(powers)
}

// primePower is a prime number to the power of n, or of −n if sign is 1.
func primePower(spelling string, n int64, sign int) factor {
	return factor{string(rune(prime)) + spelling, whole(n * int64(1-2*sign))}
}

// distinct reports whether no atom is there twice.
func distinct(powers []factor) bool {
	for i := 1; i < len(powers); i++ {
		if powers[i].atom == powers[i-1].atom {
			return false
		}
	}
	return true
}
