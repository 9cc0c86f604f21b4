package algebra

import (
	"math"
	"math/big"
	"slices"
)

// Bounds of special points.
const (
	maxSpecial = 500
	maxPieces  = 8  // expressions whose zeros are looked for
	maxJumps   = 40 // with those where a rounding jumps
	maxZeros   = 8  // of one that is no polynomial
)

// special are the points at which functions that are given piece by piece may differ
// while they agree elsewhere: on either side of the zeros of what is in absolute values,
// roots, logarithms, maxima and minima, and at them; and, with rounding, at many
// integers and fractions.
func (c *comparison) special() [][]binding {
	kinks, steps := c.pieces()
	whole := slices.ContainsFunc(c.names, func(name string) bool { return c.domain(name) != Reals })
	if len(kinks) == 0 && !steps && !whole {
		return nil
	}
	var all [][]binding
	if !slices.ContainsFunc(c.names, func(name string) bool { return c.domain(name) == Reals }) {
		kinks = slices.DeleteFunc(kinks, func(e *Expr) bool { return steps })
	}
	for base := range min(2, len(c.names)) {
		at := c.generic(3 + base) // positive, or of mixed signs
		for i, name := range c.names {
			var values []*big.Rat
			if steps || c.domain(name) != Reals {
				values = c.stairs(steps || len(kinks) > 0)
			}
			for _, value := range append(values, c.around(kinks, at, i)...) {
				if c.domain(name) != Reals && !value.IsInt() || c.domain(name) == Naturals && value.Sign() < 0 || len(all) >= maxSpecial {
					continue
				}
				next := slices.Clone(at)
				next[i].value = value
				all = append(all, next)
			}
		}
	}
	if steps && len(c.names) > 1 {
		for index := range 60 {
			next := make([]binding, len(c.names))
			for i, name := range c.names {
				unit, _ := random(index+1000, name)
				next[i] = binding{name, big.NewRat(int64(unit*40)-12*int64(1-c.domain(name)/2), 1)}
				if c.domain(name) == Reals {
					next[i].value.Quo(next[i].value, big.NewRat(int64(1+index%4), 1))
				}
			}
			all = append(all, next)
		}
	}
	return all
}

// pieces are the expressions at whose zeros there may be kinks or ends, and whether
// there are steps.
func (c *comparison) pieces() (kinks []*Expr, steps bool) {
	for _, e := range []*Expr{c.a, c.b} {
		e.Any(func(e *Expr) bool {
			var kink *Expr
			switch {
			case e.Op == Pow:
				if r, ok := Exact(e.Args[1]); ok && !r.IsInt() {
					kink = e.Args[0]
				}
			case e.Op != Call:
			case e.Name == "abs" || e.Name == "sqrt" || e.Name == "root" || e.Name == "ln" || e.Name == "log":
				kink = e.Args[0]
			case (e.Name == "max" || e.Name == "min") && len(e.Args) == 2:
				kink = minus(e.Args[0], e.Args[1])
			case e.Name == "floor" || e.Name == "ceil":
				steps = true
				for k := int64(-3); k <= 5 && len(kinks) < maxJumps && e.Args[0].Any(isSymbol); k++ {
					kinks = append(kinks, Make(Add, e.Args[0], Int(-k)))
				}
			case e.Name == "gcd" || e.Name == "lcm":
				steps = true
			}
			if kink != nil && kink.Any(isSymbol) && len(kinks) < maxPieces {
				kinks = append(kinks, kink)
			}
			return false
		})
	}
	return kinks, steps
}

// stairs are integers at which roundings may jump: small ones, powers and their
// neighbours, and multiples of the numbers in the expressions.
func (c *comparison) stairs(many bool) []*big.Rat {
	var values []*big.Rat
	low, high := int64(-4), int64(16)
	if many {
		low, high = -12, 40
	}
	for n := low; n <= high; n++ {
		values = append(values, big.NewRat(n, 1))
	}
	var centers []int64
	if many {
		centers = []int64{49, 64, 81, 100, 125, 128, 243, 256, 625, 1000, 1024, 1 << 20, 1000000, -100, -1024}
	}
	seen := map[int64]bool{1: true}
	for _, e := range []*Expr{c.a, c.b} {
		e.Any(func(e *Expr) bool {
			if e.Op == Number {
				for _, r := range []*big.Int{e.Num.Num(), e.Num.Denom()} {
					if n := r.Int64(); r.BitLen() < 50 && len(seen) < 7 && !seen[n] {
						seen[n] = true
						centers = append(centers, -3*n, -2*n, -n, n, 2*n, 3*n, 4*n)
					}
				}
			}
			return false
		})
	}
	for _, n := range centers {
		values = append(values, big.NewRat(n-1, 1), big.NewRat(n, 1), big.NewRat(n+1, 1))
	}
	return values
}

// around are values of a variable at, between and beyond the zeros of expressions,
// where the other variables have values.
func (c *comparison) around(kinks []*Expr, at []binding, variable int) []*big.Rat {
	var zeros []float64
	for _, kink := range kinks {
		if slices.Contains(variables(kink, nil), at[variable].name) {
			zeros = append(zeros, c.zeros(kink, at, variable)...)
		}
	}
	slices.Sort(zeros)
	zeros = slices.Compact(zeros)
	var values []*big.Rat
	for i, zero := range zeros {
		if i == 0 {
			values = append(values, coarse(zero-1-math.Abs(zero)/2))
		}
		values = append(values, coarse(zero))
		if i+1 < len(zeros) {
			values = append(values, coarse((zero+zeros[i+1])/2))
		} else {
			values = append(values, coarse(zero+1+math.Abs(zero)/2))
		}
	}
	if c.domain(at[variable].name) != Reals {
		for i, value := range values {
			values[i] = new(big.Rat).SetInt(floor(value))
		}
	}
	return values
}

// coarse is a fraction near f that is written with few digits.
func coarse(f float64) *big.Rat {
	for _, d := range []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12} {
		if n := math.Round(f * d); math.Abs(f*d-n) < 1e-9*max(1, math.Abs(n)) && math.Abs(n) < 1<<52 && (n != 0 || f == 0) {
			return big.NewRat(int64(n), int64(d))
		}
	}
	mantissa, exp := math.Frexp(f)
	r := new(big.Rat).SetFloat64(math.Ldexp(math.Round(mantissa*(1<<30)), exp-30))
	if r == nil {
		return new(big.Rat)
	}
	return r
}

// zeros returns the zeros of e as a function of one variable: all of a polynomial, and of
// another function the zeros where its sign changes on a grid.
func (c *comparison) zeros(e *Expr, at []binding, variable int) []float64 {
	name := at[variable].name
	for e.Op == Pow { // which may have no change of sign
		e = e.Args[0]
	}
	e = substitute(e, without(at, name))
	if f, ok := newFormer(c.complex).form(e); ok {
		if coefficients, ok := polynomial(f.numerator()); ok {
			zeros := realZeros(coefficients)
			if below, ok := polynomial(f.denominator()); ok {
				zeros = append(zeros, realZeros(below)...)
			}
			return zeros
		}
	}
	var zeros []float64
	last, lastAt := 0, 0.0
	for k := -120; k <= 120; k++ {
		// In steps of a third of an octave, and of ten octaves far out and near zero.
		octaves := math.Abs(float64(k))/3 - 20
		if math.Abs(octaves) > 10 {
			octaves += math.Copysign(30*(math.Abs(octaves)-10), octaves)
		}
		v := math.Copysign(math.Exp2(octaves), float64(k))
		b, ok := c.at(64).value(substitute(e, []binding{{name, new(big.Rat).SetFloat64(v)}}))
		sign := 0
		if ok && b.im == nil {
			sign = b.re.Sign()
		}
		if last != 0 && sign == -last && len(zeros) < maxZeros {
			if zeros = append(zeros, (lastAt+v)/2); k <= -90 || -30 < k && k <= 30 || k > 90 {
				zeros = append(zeros, lastAt, v)
			}
		}
		last, lastAt = sign, v
	}
	return zeros
}

// polynomial are the coefficients of p as a polynomial in its only variable.
func polynomial(p poly) ([]float64, bool) {
	coefficients := make([]float64, 1, 4)
	name := ""
	for _, t := range p {
		n := 0
		for _, f := range t.factors {
			if f.atom[0] != variable || name != "" && f.atom != name || f.exp.d != 1 || f.exp.n < 0 || f.exp.n > 40 {
				return nil, false
			}
			name, n = f.atom, int(f.exp.n)
		}
		for len(coefficients) <= n {
			coefficients = append(coefficients, 0)
		}
		coefficients[n], _ = t.coef.Float64()
	}
	return coefficients, len(p) > 0
}

// realZeros are the real zeros of a polynomial, which are between the extrema.
func realZeros(c []float64) []float64 {
	for len(c) > 1 && c[len(c)-1] == 0 {
		c = c[:len(c)-1]
	}
	n := len(c) - 1
	if n < 1 {
		return nil
	}
	if n == 1 {
		return []float64{-c[0] / c[1]}
	}
	value := func(x float64) float64 {
		y := 0.0
		for k := n; k >= 0; k-- {
			y = y*x + c[k]
		}
		return y
	}
	derivative := make([]float64, n)
	bound := 1.0
	for k := 1; k <= n; k++ {
		derivative[k-1] = float64(k) * c[k]
		bound = max(bound, 1+math.Abs(c[k-1]/c[n]))
	}
	var zeros []float64
	ends := append(append([]float64{-bound}, realZeros(derivative)...), bound)
	for i, high := range ends[1:] {
		low := ends[i]
		rises := value(low) <= 0
		if (value(high) > 0) == rises || value(high) == 0 {
			a, b := low, high
			for range 200 {
				if middle := (a + b) / 2; (value(middle) <= 0) == rises {
					a = middle
				} else {
					b = middle
				}
			}
			zeros = append(zeros, a)
		} else if i+1 < len(ends)-1 {
			zeros = append(zeros, high) // where a curve may touch the axis
		}
	}
	slices.Sort(zeros)
	return zeros
}
