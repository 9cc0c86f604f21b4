package algebra

import (
	"hash/fnv"
	"math"
	"math/big"
	"slices"
	"strings"
)

// domain is the set of numbers that a variable stands for.
type domain uint8

const (
	reals domain = iota
	integers
	naturals // and zero
)

// Variables are the names of the variables of e.
func Variables(e *Expr) []string { return variables(e, nil) }

// variables adds the names of the variables of e to names.
func variables(e *Expr, names []string) []string {
	e.Any(func(e *Expr) bool {
		if e.Op == Symbol && !slices.Contains(names, e.Name) {
			names = append(names, e.Name)
		}
		return false
	})
	return names
}

// domain is the domain of a variable that its use and name imply.
func (c *comparison) domain(name string) domain {
	d := reals
	if Whole(name) {
		d = integers
	}
	for _, e := range []*Expr{c.a, c.b} {
		e.Any(func(e *Expr) bool {
			switch {
			case e.Op == Call && (e.Name == "factorial" || e.Name == "binom"):
				if slices.Contains(variables(e, nil), name) {
					d = naturals
				}
			case e.Op == Pow && d == reals && slices.Contains(variables(e.Args[1], nil), name):
				if r, ok := Exact(e.Args[0]); ok && r.Sign() < 0 { // (−1)^n
					d = integers
				}
			}
			return false
		})
	}
	return d
}

// Whole reports whether the name of a variable implies that it is an integer.
func Whole(name string) bool {
	base, _, _ := strings.Cut(strings.TrimRight(name, "'"), "_")
	return len(base) == 1 && strings.Contains("nmkjNMK", base)
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

// near is a generic point, at which variables are numbers without any relation to one another, whose
// ranges are widened by a scale, and begin at a number.
func (c *comparison) near(index int, start *big.Rat, scale int64) []binding {
	r := ranges[index%len(ranges)]
	values := make([]binding, len(c.names))
	for i, name := range c.names {
		unit, sign := random(index, name)
		var value *big.Rat
		domain := c.domain(name)
		if domain == reals {
			f := r.low + unit*(r.high-r.low)
			value = new(big.Rat).SetFloat64(math.Round(f*(1<<12)) / (1 << 12))
		} else {
			value = big.NewRat(int64(3+unit*17), 1)
		}
		if r.signed && sign && domain != naturals || r.high < 0 && domain == integers {
			value.Neg(value)
		}
		value.Mul(value, big.NewRat(scale, 1))
		if domain == reals || start.IsInt() && start.Sign() >= 0 {
			value.Add(value, start)
		}
		values[i] = binding{name, value}
	}
	return values
}

// rounds are the generic points in the order in which they are tried.
func (c *comparison) rounds(yield func([]binding) bool) {
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
			for _, number := range constants(c.b, constants(c.a, nil)) {
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

// excused reports whether one of two equal functions may be undefined at a point: where
// several variables are negative, for √x·√y is √(xy).
func excused(values []binding) bool {
	negative := 0
	for _, v := range values {
		if v.value.Sign() < 0 {
			negative++
		}
	}
	return negative > 1
}

// everywhere compares at generic points, where both must be defined alike and often
// enough, and at special ones.
func (c *comparison) everywhere() bool {
	agreed, tried := 0, 0
	for values := range c.rounds {
		if tried++; tried > len(ranges) && agreed >= needed {
			break
		}
		switch c.compare(values, quick, maxPrec) {
		case same:
			agreed++
		case different:
			return false
		case onlyOne:
			if !excused(values) {
				return false
			}
		}
	}
	if agreed < needed {
		return false
	}
	c.work = maxSteps
	for _, values := range c.special() {
		if c.compare(values, quick, quick) == different {
			return false
		}
	}
	return c.work > 0
}

// special are points at which functions that are given piece by piece may differ while
// they agree elsewhere, one variable after another and all at once: small integers, and
// the numbers in the expressions with their neighbours, multiples and roots.
func (c *comparison) special() (all [][]binding) {
	byPieces := func(e *Expr) bool {
		if e.Op == Pow {
			r, ok := Exact(e.Args[1])
			return ok && !r.IsInt()
		}
		return e.Op == Call && strings.Contains(" abs sqrt root ln log max min floor ceil gcd lcm ", " "+e.Name+" ")
	}
	if !c.a.Any(byPieces) && !c.b.Any(byPieces) && !slices.ContainsFunc(c.names, func(name string) bool { return c.domain(name) != reals }) {
		return nil
	}
	values := c.steps()
	for i, name := range c.names {
		at, domain := c.near(3+i%2, new(big.Rat), 1), c.domain(name) // positive, or of mixed signs
		for _, value := range values {
			if domain != reals && !value.IsInt() || domain == naturals && value.Sign() < 0 {
				continue
			}
			next := slices.Clone(at)
			next[i].value = value
			all = append(all, next)
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
	for _, r := range constants(c.b, constants(c.a, nil)) {
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

// constants adds the first few numbers in e to others.
func constants(e *Expr, others []*big.Rat) []*big.Rat {
	r, ok := Exact(e)
	if ok && bits(r) < 100 && len(others) < 4 && !slices.ContainsFunc(others, func(o *big.Rat) bool { return o.Cmp(r) == 0 }) {
		return append(others, r)
	}
	for _, arg := range e.Args {
		if !ok {
			others = constants(arg, others)
		}
	}
	return others
}

// anywhere is a generic point at which both expressions have values other than zero.
func (c *comparison) anywhere() ([]binding, bool) {
	for values := range c.rounds {
		p := c.at(quick)
		x, okX := p.value(substitute(c.a, values))
		y, okY := p.value(substitute(c.b, values))
		if okX && okY && !x.zero() && !y.zero() {
			return values, true
		}
	}
	return nil, false
}
