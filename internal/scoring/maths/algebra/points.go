package algebra

import (
	"hash/fnv"
	"math"
	"math/big"
	"slices"
	"strings"
)

// variable is a variable of a comparison.
type variable struct {
	name   string
	domain domain
}

// domain is the set of numbers that a variable stands for.
type domain uint8

const (
	reals domain = iota
	integers
	naturals // and zero
)

// domainOf is the domain of a variable that its use in e and its name imply.
func domainOf(name string, e *Expr) domain {
	d := reals
	if Whole(name) {
		d = integers
	}
	e.Any(func(e *Expr) bool {
		switch {
		case e.Op == Call && (e.Name == "factorial" || e.Name == "binom") && e.has(name):
			d = naturals
		case e.Op == Pow && d == reals && e.Args[1].has(name):
			if r, ok := Exact(e.Args[0]); ok && r.Sign() < 0 { // (−1)^n
				d = integers
			}
		}
		return false
	})
	return d
}

// Whole reports whether the name of a variable implies that it is an integer.
func Whole(name string) bool {
	base, _, _ := strings.Cut(strings.TrimRight(name, "'"), "_")
	return len(base) == 1 && strings.Contains("nmkjNMK", base)
}

// point holds a value for each variable of a comparison.
type point []*big.Rat

// where is e at a point.
func (c *comparison) where(e *Expr, at point) *Expr {
	return Rewrite(e, func(e *Expr) *Expr {
		for i, v := range c.variables {
			if e.Op == Symbol && v.name == e.Name {
				return Rational(at[i])
			}
		}
		return nil
	})
}

// needed is at how many generic points two functions must be defined and equal.
const needed = 3

// everywhere compares at generic points, where both must be defined alike and often
// enough, and at special ones.
func (c *comparison) everywhere() bool {
	agreed, tried := 0, 0
	compare := func(at point, to uint) verdict {
		v, _ := c.difference(c.where(c.a, at), c.where(c.b, at), !c.complex, to)
		return v
	}
	for at := range c.generic {
		if tried++; tried > len(ranges) && agreed >= needed {
			break
		}
		negative := 0
		for _, value := range at {
			if value.Sign() < 0 {
				negative++
			}
		}
		switch compare(at, maxPrec) {
		case same:
			agreed++
		case different:
			return false
		case onlyOne:
			if negative < 2 { // else √x·√y is √(xy)
				return false
			}
		}
	}
	if agreed < needed {
		return false
	}
	c.work = maxSteps
	return !slices.ContainsFunc(c.special(), func(at point) bool { return compare(at, quick) == different }) && c.work > 0
}

// anywhere is a generic point at which both expressions have values other than zero.
func (c *comparison) anywhere() (point, bool) {
	for at := range c.generic {
		p := c.at(quick)
		if x, y := p.value(c.where(c.a, at)), p.value(c.where(c.b, at)); !x.zero() && !y.zero() {
			return at, true
		}
	}
	return nil, false
}

// ranges holds the ranges of real variables at generic points. With signed, each variable is
// positive or negative by itself.
var ranges = [...]struct {
	low, high float64
	signed    bool
}{{0.1, 0.9, false}, {1, 4, false}, {-4, -1, false}, {0.5, 3, false}, {0.5, 3, true}, {-1, -0.1, false}, {5, 12, true}}

// scales widen the ranges, one round of points after another, for functions that have no
// values near zero: √(x−20). Before the first wider round, the ranges begin at the numbers
// of the expressions: √(x−20)·√(30−x).
var scales = [...]int64{1, 1, 1, 1, 8, 60, 500}

// generic yields the generic points in the order in which they are tried.
func (c *comparison) generic(yield func(point) bool) {
	index := 0
	round := func(start *big.Rat, scale int64) bool {
		for range ranges {
			if !yield(c.near(index, start, scale)) {
				return false
			}
			index++
		}
		return true
	}
	for i, scale := range scales {
		if scale > 1 && scales[i-1] == 1 {
			for _, number := range c.constants() {
				if !round(number, 1) {
					return
				}
			}
		}
		if !round(new(big.Rat), scale) {
			return
		}
	}
}

// near is a generic point, at which variables are numbers without any relation to one another, whose
// ranges are widened by a scale, and begin at a number.
func (c *comparison) near(index int, start *big.Rat, scale int64) point {
	r := ranges[index%len(ranges)]
	var at point
	for _, v := range c.variables {
		unit, sign := random(index, v.name)
		value := big.NewRat(int64(3+unit*17), 1)
		if v.domain == reals {
			f := r.low + unit*(r.high-r.low)
			value.SetFloat64(math.Round(f*(1<<12)) / (1 << 12))
		}
		if r.signed && sign && v.domain != naturals || r.high < 0 && v.domain == integers {
			value.Neg(value)
		}
		value.Mul(value, big.NewRat(scale, 1))
		if v.domain == reals || start.IsInt() && start.Sign() >= 0 {
			value.Add(value, start)
		}
		at = append(at, value)
	}
	return at
}

// random is a number from 0 to 1 and a sign, the same for the same point and name.
func random(index int, name string) (unit float64, sign bool) {
	h := fnv.New64a()
	h.Write([]byte{byte(index), byte(index >> 8)})
	h.Write([]byte(name))
	// A multiplication spreads the last bytes over all bits.
	bits := h.Sum64() * 0x9e3779b97f4a7c15
	bits ^= bits >> 32
	bits *= 0xd6e8feb86659fd93
	return float64(bits>>11) * 0x1p-53, bits&1 == 1
}

// special are points at which functions that are given piece by piece may differ while
// they agree elsewhere, one variable after another and all at once: small integers, and
// the numbers in the expressions with their neighbours, multiples and roots.
func (c *comparison) special() (all []point) {
	byPieces := func(e *Expr) bool {
		if e.Op == Pow {
			r, ok := Exact(e.Args[1])
			return ok && !r.IsInt()
		}
		return e.Op == Call && strings.Contains(" abs sqrt root ln log max min floor ceil gcd lcm ", " "+e.Name+" ")
	}
	if !c.a.Any(byPieces) && !c.b.Any(byPieces) && !slices.ContainsFunc(c.variables, func(v variable) bool { return v.domain != reals }) {
		return nil
	}
	values := c.steps()
	for i, v := range c.variables {
		at := c.near(3+i%2, new(big.Rat), 1) // positive, or of mixed signs
		for _, value := range values {
			if v.domain == reals || value.IsInt() && (v.domain == integers || value.Sign() >= 0) {
				next := slices.Clone(at)
				next[i] = value
				all = append(all, next)
			}
		}
	}
	return all
}

// steps are the values of a variable at special points: around small integers, and around
// the numbers of both expressions, where their multiples, powers and roundings are.
func (c *comparison) steps() (values []*big.Rat) {
	for n := int64(-8); n <= 20; n++ {
		values = append(values, big.NewRat(n, 1))
		if n%2 == 0 {
			values = append(values, big.NewRat(2*n+1, 8))
		}
	}
	for _, r := range c.constants() {
		for k := int64(-2); k <= 2; k++ {
			near := new(big.Rat).Add(r, big.NewRat(k, 2))
			values = append(values, new(big.Rat).Mul(r, big.NewRat(k, 2)), near, new(big.Rat).Neg(near))
			if r.Sign() != 0 {
				jump := new(big.Rat).Quo(big.NewRat(k, 1), r)
				values = append(values, jump, new(big.Rat).Add(jump, big.NewRat(-1, 1024)))
			}
		}
		f, _ := r.Float64()
		for _, g := range []float64{f * f / 2, f * f * 2, math.Exp(f) / 2, math.Exp(f) * 2, math.Exp(-f) / 2, math.Exp(-f) * 2} {
			if power := new(big.Rat).SetFloat64(g); power != nil {
				values = append(values, power)
			}
		}
	}
	return values
}

// constants are the first few numbers in both expressions.
func (c *comparison) constants() (all []*big.Rat) {
	var add func(e *Expr)
	add = func(e *Expr) {
		r, ok := Exact(e)
		if ok && bits(r) < 100 && len(all) < 4 && !slices.ContainsFunc(all, func(o *big.Rat) bool { return o.Cmp(r) == 0 }) {
			all = append(all, r)
		} else if !ok {
			for _, arg := range e.Args {
				add(arg)
			}
		}
	}
	add(c.a)
	add(c.b)
	return all
}
