package maths

import (
	"math"
	"slices"
	"strings"

	"speceval/internal/scoring/maths/algebra"
	"speceval/internal/scoring/maths/latex"
)

// equalSets compares sets of numbers in whichever way they are given: as lists,
// intervals, unions of them, inequalities or conditions. An equation or an inequality of
// gold may have to be solved; that of an answer is solved already.
func (c *comparer) equalSets(g, p latex.Answer) bool {
	if g.Kind == latex.Union && p.Kind == latex.Union && g.Op == p.Op && c.equalUnions(g, p) {
		return true
	}
	a, ok := c.region(g, true)
	if !ok || !a.settle() {
		return false
	}
	b, ok := c.region(p, false)
	if !ok || !b.settle() || a.domain != b.domain || a.name != b.name && named(a.name) && named(b.name) {
		return false
	}
	ends, between := places(strings.IndexByte("ZN", a.domain) >= 0, a, b)
	return len(between) > 0 && !slices.ContainsFunc(append(ends, between...), func(x point) bool { return !c.spend(1) || a.has(x) != b.has(x) })
}

// equalUnions compares unions and the like part by part.
func (c *comparer) equalUnions(g, p latex.Answer) bool {
	if len(g.Items) != len(p.Items) || len(g.Items) > maxItems {
		return false
	}
	return g.Op == "∖" && c.inOrder(g.Items, p.Items) || g.Op != "∖" && c.matched(g.Items, p.Items, c.equal, false)
}

// named reports whether a region says what is in it.
func named(name string) bool { return name != "" && name != latex.Nameless }

// settle writes a finite set of integers as one of real numbers. Whether zero is a natural
// number is left open: a set of natural numbers that reaches zero keeps its domain, and
// equals no set of integers.
func (r *region) settle() bool {
	switch r.domain {
	case 0:
		r.domain = 'R'
	case 'N':
		inner, zero := r.has, numbered(0)
		r.ends = append(r.ends, zero)
		r.has = func(x point) bool { return x.near > -0.5 && inner(x) }
		if !inner(zero) {
			r.domain = 'Z'
		}
	case 'Q':
		ends, _ := places(false, *r)
		if r.finite() && !slices.ContainsFunc(ends, func(x point) bool { _, ok := algebra.Exact(x.at); return !ok && r.has(x) }) {
			r.domain = 'R'
		}
	}
	if r.domain != 'Z' || len(r.ends) == 0 {
		return true
	}
	_, all := places(true, *r)
	if len(all) == 0 {
		return false
	}
	if inner := *r; !inner.has(all[0]) && !inner.has(all[len(all)-1]) {
		r.domain, r.ends = 'R', slices.DeleteFunc(all, func(x point) bool { return !inner.has(x) })
		*r = region{r.name, 'R', r.ends, oneOfThem(r.ends)}
	}
	return true
}

// region is the set of numbers that an answer is.
func (c *comparer) region(a latex.Answer, solve bool) (region, bool) {
	if !c.spend(10) {
		return region{}, false
	}
	switch a.Kind {
	case latex.Tuple:
		if len(a.Items) != 2 {
			return region{}, false
		}
		return interval(a.Items[0], a.Items[1], a.Open == '[', a.Close == ']')
	case latex.Set:
		return members(a.Items)
	case latex.Value:
		if r, ok := setOfNumbers(a); ok || solve || a.Unit != "" || a.Percent {
			return r, ok
		}
		return members([]latex.Answer{a}) // 1, of (x−1)³ = 0
	case latex.Words:
		switch {
		case isEmpty(a):
			return region{has: nowhere}, true
		case a.Text == "all real numbers" || a.Text == "all reals" || a.Text == "real numbers":
			return region{has: everywhere}, true
		}
	case latex.Relation:
		return c.solutions(a, solve)
	case latex.List:
		return c.conditions(a, solve)
	case latex.Union:
		keep := map[string]func(a, b bool) bool{"∪": either, "∩": both, "∖": without}[a.Op]
		all, ok := c.region(a.Items[0], solve)
		for _, item := range a.Items[1:] {
			if !ok {
				break
			}
			var next region
			if next, ok = c.region(item, solve); ok {
				ok = all.join(next, keep)
			}
		}
		return all, ok
	case latex.Builder:
		return c.built(a)
	}
	return region{}, false
}

// members is a finite set of numbers.
func members(items []latex.Answer) (region, bool) {
	var all []point
	for _, item := range items {
		if item.Kind != latex.Value || nameOf(item) != "" || len(all) == maxIntegers {
			return region{}, false
		}
		x, ok := exactly(item.Expr)
		if !ok || math.IsInf(x.near, 0) {
			return region{}, false
		}
		all = append(all, x)
	}
	return region{ends: all, has: oneOfThem(all)}, true
}

func both(a, b bool) bool    { return a && b }
func either(a, b bool) bool  { return a || b }
func without(a, b bool) bool { return a && !b }

// setOfNumbers is one of ℤ, ℚ, ℝ and so on, or the part of it that a sign says.
func setOfNumbers(a latex.Answer) (region, bool) {
	if a.Kind != latex.Value || a.Expr.Op != algebra.Symbol {
		return region{}, false
	}
	name, ok := strings.CutPrefix(a.Expr.Name, `\mathbb `)
	if !ok || name == "" || !strings.Contains("ZNQRC", name[:1]) || len(name) > 2 {
		return region{}, false
	}
	signs := map[string]string{"": "<=>", "+": ">", "0": "=>", "-": "<", "*": "<>"}[name[1:]]
	zero := numbered(0)
	r := region{domain: name[0], has: func(x point) bool { return strings.IndexByte(signs, "<=>"[1+x.against(zero)]) >= 0 }}
	if len(name) > 1 {
		r.ends = []point{zero}
	}
	return r, signs != ""
}

// join combines r with another region: an intersection is of the narrower numbers.
func (r *region) join(s region, keep func(a, b bool) bool) bool {
	if r.name == "" {
		r.name = s.name
	} else if s.name != "" && s.name != r.name {
		return false
	}
	const narrower = "\x00CRQZN"
	if !keep(true, false) {
		r.domain = narrower[max(strings.IndexByte(narrower, r.domain), strings.IndexByte(narrower, s.domain))]
	} else if r.domain%'R' != s.domain%'R' && !s.finite() {
		return false
	} else if keep(false, true) && r.domain%'R' != s.domain%'R' {
		return false
	}
	inner := r.has
	r.ends = slices.Concat(r.ends, s.ends)
	r.has = func(x point) bool { return keep(inner(x), s.has(x)) }
	return true
}

// conditions is the region of a list of numbers, or of one of conditions on one variable,
// that hold together if they can, and else one or the other: x < 2, x > 3.
func (c *comparer) conditions(a latex.Answer, solve bool) (region, bool) {
	if len(a.Items) > maxItems {
		return region{}, false
	}
	if !slices.ContainsFunc(a.Items, func(item latex.Answer) bool { return item.Kind != latex.Value }) {
		return members(a.Items)
	}
	var meet, union region
	for i, item := range a.Items {
		if before := a.Items[max(i, 1)-1]; item.Kind == latex.Value && before.Kind == latex.Relation && len(before.Rels) == 1 && strings.Contains("≠=", before.Rels[0]) { // x ≠ 2, 3
			before.Items = []latex.Answer{before.Items[0], item}
			a.Items = slices.Clone(a.Items)
			item, a.Items[i] = before, before
		}
		if item.Kind != latex.Relation {
			return meet, false
		}
		r, ok := c.region(item, solve)
		if !ok {
			return meet, false
		}
		if i == 0 {
			meet, union = r, r
			continue
		}
		stated := r.domain != 0 && len(r.ends) == 0 // x ∈ ℤ
		if !meet.join(r, both) {
			return meet, false
		}
		if stated {
			union.join(r, both)
		} else if union.has == nil || !union.join(r, either) {
			union.has = nil
		}
	}
	if a.Op != "∨" && !meet.empty() {
		return meet, true
	}
	if a.Op == "∧" && !solve {
		return meet, false // x < 1 and x > 3, which only a gold may say for "or"
	}
	return union, union.has != nil
}

// built is the region of {x ∈ S : …} with one variable.
func (c *comparer) built(a latex.Answer) (region, bool) {
	head := a.Items[0]
	all := region{name: nameOf(head), has: everywhere}
	if head.Kind == latex.Relation {
		var ok bool
		if all, ok = c.solutions(head, true); !ok || head.Rels[0] != "∈" {
			return all, false
		}
	}
	if all.name == "" {
		return all, false
	}
	for _, condition := range a.Items[1:] {
		r, ok := c.region(condition, true)
		if !ok || r.name != all.name || !all.join(r, both) {
			return all, false
		}
	}
	all.name = ""
	return all, true
}

// solutions is the region that a relation gives a variable: x > 2, 1 < x ≤ 5, x ≠ 3,
// x ∈ S, |x − 8| < 7, and x² = 4 if it is to be solved.
func (c *comparer) solutions(a latex.Answer, solve bool) (region, bool) {
	if len(a.Rels) == 1 && (a.Rels[0] == "∈" || a.Rels[0] == "∉") {
		name := nameOf(a.Items[0])
		r, ok := c.region(a.Items[1], solve)
		if a.Rels[0] == "∉" {
			if ok = ok && r.domain == 0; ok {
				inner := r.has
				r.has = func(x point) bool { return !inner(x) }
			}
		}
		r.name = name
		return r, ok && name != ""
	}
	all := region{has: everywhere}
	for i, rel := range a.Rels {
		r, ok := c.solution(a.Items[i], a.Items[i+1], rel, solve)
		if !ok || len(a.Rels) > 1 && (rel == "=" || rel == "≠") || !all.join(r, both) {
			return all, false
		}
	}
	return all, true
}

// side is a side of a relation as an expression, and its name if it is one.
func side(a latex.Answer) (e *algebra.Expr, name string) {
	name = nameOf(a)
	switch {
	case a.Kind == latex.Value && (name == "" || name[0] == '|' && len(algebra.Variables(a.Expr)) == 1):
		return a.Expr, ""
	case name != "":
		return algebra.Var(name), name
	}
	return nil, ""
}

// maxDegree is the highest degree of gold's equations and inequalities that are solved.
const maxDegree = 8

// solution is the region that a relation between two sides gives its only variable, or
// the one that stands by itself.
func (c *comparer) solution(left, right latex.Answer, rel string, solve bool) (region, bool) {
	l, name := side(left)
	r, other := side(right)
	if l == nil || r == nil || name != "" && other != "" || !c.spend(numericWork*(l.Size(enoughWork)+r.Size(enoughWork))) {
		return region{}, false
	}
	name += other
	if infinity := algebra.Infinite(r) - algebra.Infinite(l); infinity != 0 {
		return region{name: name, has: everywhere}, name != "" && strings.Contains(map[int]string{1: "<≤≠", -1: ">≥≠"}[infinity], rel)
	}
	degree := 1
	switch {
	case solve:
		degree = maxDegree
	case rel == "=" && name == "":
		return region{}, false
	}
	if name == "" {
		variables := algebra.Variables(algebra.Make(algebra.Add, l, r))
		if len(variables) != 1 {
			return region{}, false
		}
		name = variables[0]
	}
	if isSize(l, r) || isSize(r, l) { // |p| < 5 is p² < 5²
		l, r, degree = squared(l), squared(r), max(degree, 2)
	}
	difference := algebra.Make(algebra.Add, l, algebra.Make(algebra.Neg, r))
	above, below := difference, algebra.Int(1)
	if solve {
		above, below = algebra.Fraction(difference)
	}
	zeros, ok := zerosOf(above, name, degree)
	var poles []point
	if slices.Contains(algebra.Variables(below), name) {
		c, constant := algebra.Coefficients(above, name, 1)
		found := false
		poles, found = zerosOf(below, name, degree)
		ok = found && (ok || constant && len(c) == 1)
	}
	signs := map[string]string{"<": "<", "≤": "<=", ">": ">", "≥": "=>", "=": "=", "≠": "<>"}[rel]
	all := region{name: name, ends: append(zeros, poles...)}
	all.has = func(x point) bool {
		if slices.ContainsFunc(poles, func(pole point) bool { return pole.close(x) && (pole.zero || x.against(pole) == 0) }) {
			return false
		}
		sign := 0
		if !x.zero || !slices.ContainsFunc(all.ends, x.close) {
			sign, _ = algebra.Sign(replaced(difference, name, x.at))
		}
		return strings.IndexByte(signs, "<=>"[1+sign]) >= 0
	}
	return all, ok && signs != ""
}

// zerosOf are the real zeros of a polynomial in a variable, see [algebra.Zeros].
func zerosOf(e *algebra.Expr, name string, degree int) (points []point, ok bool) {
	zeros, exact, ok := algebra.Zeros(e, name, degree)
	for _, zero := range zeros {
		x, _ := exactly(zero)
		x.zero = !exact
		points = append(points, x)
	}
	return points, ok
}

// isSize reports whether e is an absolute value and bound a positive number.
func isSize(e, bound *algebra.Expr) bool {
	if e.Op != algebra.Call || e.Name != "abs" {
		return false
	}
	sign, ok := algebra.Sign(bound)
	return ok && sign > 0
}

func squared(e *algebra.Expr) *algebra.Expr {
	if e.Op == algebra.Call && e.Name == "abs" {
		e = e.Args[0]
	}
	return algebra.Make(algebra.Pow, e, algebra.Int(2))
}
