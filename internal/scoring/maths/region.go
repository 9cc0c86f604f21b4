package maths

import (
	"cmp"
	"math"
	"math/big"
	"slices"

	"speceval/internal/scoring/maths/algebra"
	"speceval/internal/scoring/maths/latex"
)

// point is a real number: the value of an expression, or a zero near a number.
type point struct {
	at   *algebra.Expr
	near float64
	zero bool // of a polynomial, whose exact value is not known
}

// close reports whether two points may be the same.
func (x point) close(y point) bool {
	return math.Abs(x.near-y.near) <= 1e-9*max(1, math.Abs(x.near))
}

// region is a set of numbers: the variable in it if one is named, the domain of its numbers,
// Z, N, Q, R or C, or 0 where none is stated, which means R, the points at which it may begin
// or end, and what is in it.
type region struct {
	name   string
	domain byte
	ends   []point
	has    func(point) bool
}

func everywhere(point) bool { return true }
func nowhere(point) bool    { return false }

// exactly is the point of a constant.
func exactly(e *algebra.Expr) (point, bool) {
	near, ok := algebra.Float(e)
	return point{at: e, near: near}, ok
}

// numbered is the point of a number.
func numbered(f float64) point {
	r := new(big.Rat).SetFloat64(f)
	if r == nil {
		r = new(big.Rat)
	}
	return point{at: algebra.Rational(r), near: f}
}

// against is the sign of a point less another one, 0 if they are the same.
func (x point) against(y point) int {
	if x.zero && x.close(y) {
		return 0
	}
	sign, _ := algebra.Sign(algebra.Make(algebra.Add, x.at, algebra.Make(algebra.Neg, y.at)))
	return sign
}

// places are the points at which regions may differ: their ends, and numbers before,
// between and behind them; of integers all from before the first end to behind the last, none if they are too many.
func places(integers bool, regions ...region) (ends, between []point) {
	for _, r := range regions {
		for _, x := range r.ends {
			if !slices.ContainsFunc(ends, func(y point) bool { return x.close(y) && (x.zero || !y.zero && x.against(y) == 0) }) {
				ends = append(ends, x)
			}
		}
	}
	slices.SortFunc(ends, func(x, y point) int { return cmp.Compare(x.near, y.near) })
	last := len(ends) - 1
	if last < 0 {
		return nil, []point{numbered(0)}
	}
	first, end := math.Floor(ends[0].near)-2, math.Ceil(ends[last].near)+2
	if integers {
		for k := first; k <= end && end-first <= maxIntegers && math.Abs(k) < 1<<50; k++ {
			between = append(between, numbered(k))
		}
		return nil, between
	}
	for i, x := range ends[1:] {
		if gap := x.near - ends[i].near; gap > 0 {
			between = append(between, numbered(ends[i].near+gap/2))
		}
	}
	return ends, append(between, numbered(first-math.Abs(first)), numbered(end+math.Abs(end)))
}

// finite reports whether r has no intervals.
func (r region) finite() bool {
	_, between := places(false, r)
	return !slices.ContainsFunc(between, r.has)
}

// empty reports whether there is nothing in r.
func (r region) empty() bool {
	ends, between := places(false, r)
	return !slices.ContainsFunc(append(ends, between...), r.has)
}

// interval is the set between two ends. An end is infinite, or may be in the set.
func interval(from, to latex.Answer, withFrom, withTo bool) (region, bool) {
	if from.Kind != latex.Value || to.Kind != latex.Value {
		return region{}, false
	}
	low, high := algebra.Infinite(from.Expr), algebra.Infinite(to.Expr)
	if low > 0 || high < 0 || low < 0 && withFrom || high > 0 && withTo {
		return region{}, false
	}
	above, below := everywhere, everywhere
	var ends []point
	if low == 0 {
		x, ok := exactly(from.Expr)
		if !ok {
			return region{}, false
		}
		ends = append(ends, x)
		above = func(y point) bool { sign := y.against(x); return sign > 0 || sign == 0 && withFrom }
	}
	if high == 0 {
		x, ok := exactly(to.Expr)
		if !ok {
			return region{}, false
		} else if len(ends) > 0 {
			if order := x.against(ends[0]); order < 0 || order == 0 && !(withFrom && withTo) {
				return region{}, false
			}
		}
		ends = append(ends, x)
		below = func(y point) bool { sign := y.against(x); return sign < 0 || sign == 0 && withTo }
	}
	return region{ends: ends, has: func(x point) bool { return above(x) && below(x) }}, true
}

// oneOfThem is the set of some points.
func oneOfThem(all []point) func(point) bool {
	return func(x point) bool {
		return slices.ContainsFunc(all, func(y point) bool { return x.close(y) && x.against(y) == 0 })
	}
}

// maxIntegers bounds sets of integers that are listed.
const maxIntegers = 2000
