package maths

import (
	"math/big"

	"speceval/internal/scoring/maths/algebra"
	"speceval/internal/scoring/maths/latex"
)

// numbers is a set of real numbers: its breaks in ascending order, and what is in it
// before the first of them, at it, behind it, and so on.
type numbers struct {
	breaks []latex.Answer
	in     []bool // 2·len(breaks)+1
}

var (
	line    = numbers{in: []bool{true}}
	nothing = numbers{in: []bool{false}}
)

// point is the set of one number.
func point(a latex.Answer) numbers {
	return numbers{[]latex.Answer{a}, []bool{false, true, false}}
}

// interval is the set between two ends. An end is infinite, or may be in the set. Ends that
// cannot be compared are taken to be in order.
func interval(from, to latex.Answer, withFrom, withTo bool) (numbers, bool) {
	if from.Kind != latex.Value || to.Kind != latex.Value {
		return nothing, false
	}
	low, high := algebra.Infinite(from.Expr), algebra.Infinite(to.Expr)
	switch {
	case low > 0 || high < 0 || low < 0 && withFrom || high > 0 && withTo:
		return nothing, false
	case low < 0 && high > 0:
		return line, true
	case low < 0:
		return numbers{[]latex.Answer{to}, []bool{true, withTo, false}}, true
	case high > 0:
		return numbers{[]latex.Answer{from}, []bool{false, withFrom, true}}, true
	}
	switch order, ok := compared(from, to); {
	case ok && order > 0:
		return nothing, false
	case ok && order == 0:
		return point(from), withFrom && withTo
	}
	return numbers{[]latex.Answer{from, to}, []bool{false, withFrom, true, withTo, false}}, true
}

// compared is the order of two numbers, if that can be decided.
func compared(a, b latex.Answer) (int, bool) {
	d := algebra.Make(algebra.Add, a.Expr, algebra.Make(algebra.Neg, b.Expr))
	if sign, ok := algebra.Sign(d); ok {
		return sign, true
	}
	return 0, algebra.Equal(a.Expr, b.Expr, nil)
}

func both(a, b bool) bool    { return a && b }
func either(a, b bool) bool  { return a || b }
func without(a, b bool) bool { return a && !b }

// combine is the set of the numbers for which keep holds.
func (s numbers) combine(t numbers, keep func(inS, inT bool) bool) (numbers, bool) {
	all := numbers{in: []bool{keep(s.in[0], t.in[0])}}
	i, j := 0, 0
	for i < len(s.breaks) || j < len(t.breaks) {
		order := -1
		if i == len(s.breaks) {
			order = 1
		} else if j < len(t.breaks) {
			var ok bool
			if order, ok = compared(s.breaks[i], t.breaks[j]); !ok {
				return nothing, false
			}
		}
		atS, atT := s.in[2*i], t.in[2*j]
		var at latex.Answer
		if order >= 0 {
			at, atT = t.breaks[j], t.in[2*j+1]
			j++
		}
		if order <= 0 {
			at, atS = s.breaks[i], s.in[2*i+1]
			i++
		}
		here, behind := keep(atS, atT), keep(s.in[2*i], t.in[2*j])
		if before := all.in[len(all.in)-1]; before == here && here == behind {
			continue
		}
		all.breaks, all.in = append(all.breaks, at), append(all.in, here, behind)
	}
	return all, true
}

// empty reports whether there is nothing in s.
func (s numbers) empty() bool { return len(s.in) == 1 && !s.in[0] }

// finite reports whether s has no intervals.
func (s numbers) finite() bool {
	for i := 0; i < len(s.in); i += 2 {
		if s.in[i] {
			return false
		}
	}
	return true
}

// maxIntegers bounds sets of integers that are listed.
const maxIntegers = 2000

// integers are the integers in s, with the ends of its rays at integers.
func (s numbers) integers() (numbers, bool) {
	if len(s.breaks) == 0 {
		return s, true
	}
	floors := make([]*big.Int, len(s.breaks))
	whole := make([]bool, len(s.breaks))
	for i, at := range s.breaks {
		n, ok := algebra.Floor(at.Expr)
		if !ok || !n.IsInt64() {
			return s, false
		}
		r, exact := algebra.Exact(at.Expr)
		floors[i], whole[i] = n, exact && r.IsInt()
	}
	var members []int64
	for i, n := range floors {
		if s.in[2*i+1] && whole[i] {
			members = append(members, n.Int64())
		}
		if i+1 == len(floors) || !s.in[2*i+2] {
			continue
		}
		last := floors[i+1].Int64()
		if whole[i+1] {
			last--
		}
		for k := n.Int64() + 1; k <= last; k++ {
			if members = append(members, k); len(members) > maxIntegers {
				return s, false
			}
		}
	}
	value := func(n int64) latex.Answer { return latex.Answer{Kind: latex.Value, Expr: algebra.Int(n)} }
	all := nothing
	if s.in[0] { // the ray from below ends at the greatest integer of a row
		last := floors[0].Int64()
		if whole[0] {
			last--
		}
		for len(members) > 0 && members[0] == last+1 {
			last, members = last+1, members[1:]
		}
		all = numbers{[]latex.Answer{value(last)}, []bool{true, true, false}}
	}
	rising := s.in[len(s.in)-1]
	first := floors[len(floors)-1].Int64() + 1
	for n := len(members); rising && n > 0 && members[n-1] == first-1; n-- {
		first, members = first-1, members[:n-1]
	}
	for _, k := range members {
		all.breaks, all.in = append(all.breaks, value(k)), append(all.in, true, false)
	}
	if rising {
		if n := len(all.breaks); s.in[0] && n == 1 {
			if r, _ := algebra.Exact(all.breaks[0].Expr); r.Num().Int64() == first-1 {
				return line, true
			}
		}
		all.breaks, all.in = append(all.breaks, value(first)), append(all.in, true, true)
	}
	return all, true
}
