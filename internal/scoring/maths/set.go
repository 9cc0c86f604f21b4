package maths

import (
	"slices"
	"strings"

	"speceval/internal/scoring/maths/algebra"
	"speceval/internal/scoring/maths/latex"
)

// region is a set of numbers, the variable in it if one is named, and the domain of its
// numbers: Z, N, Q, R or C, or 0 where none is stated, which means R.
type region struct {
	name   string
	domain byte
	set    numbers
}

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
	if len(a.set.breaks) != len(b.set.breaks) || !slices.Equal(a.set.in, b.set.in) {
		return false
	}
	return c.inOrder(a.set.breaks, b.set.breaks)
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

// settle writes a set of integers with integers, and a finite set as one of real numbers.
// Whether zero is a natural number is left open: a set of natural numbers that reaches zero
// keeps its domain, and equals no set of integers.
func (r *region) settle() bool {
	ok := true
	switch r.domain {
	case 0:
		r.domain = 'R'
	case 'N':
		zero := latex.Answer{Kind: latex.Value, Expr: algebra.Int(0)}
		if r.set, ok = r.set.combine(numbers{[]latex.Answer{zero}, []bool{false, true, true}}, both); !ok {
			return false
		}
		inside, okay := r.set.combine(point(zero), both)
		if ok = okay; inside.empty() {
			r.domain = 'Z'
		}
	}
	if ok && (r.domain == 'Z' || r.domain == 'N') {
		if r.set, ok = r.set.integers(); r.set.finite() && r.domain == 'Z' {
			r.domain = 'R'
		}
	}
	if r.domain == 'Q' && r.set.finite() && !slices.ContainsFunc(r.set.breaks, func(a latex.Answer) bool { _, ok := rational(a); return !ok }) {
		r.domain = 'R'
	}
	return ok
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
		set, ok := interval(a.Items[0], a.Items[1], a.Open == '[', a.Close == ']')
		return region{set: set}, ok
	case latex.Set:
		set, ok := members(a.Items)
		return region{set: set}, ok
	case latex.Value:
		return setOfNumbers(a)
	case latex.Words:
		switch {
		case isEmpty(a):
			return region{set: nothing}, true
		case a.Text == "all real numbers" || a.Text == "all reals" || a.Text == "real numbers":
			return region{set: line}, true
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
func members(items []latex.Answer) (numbers, bool) {
	all, ok := nothing, len(items) <= maxIntegers
	for _, item := range items {
		if !ok || item.Kind != latex.Value || algebra.Infinite(item.Expr) != 0 {
			return all, false
		}
		if name := nameOf(item); name != "" {
			return all, false
		}
		all, ok = all.combine(point(item), either)
	}
	return all, ok
}

// setOfNumbers is one of ℤ, ℚ, ℝ and so on, or the part of it that a sign says.
func setOfNumbers(a latex.Answer) (region, bool) {
	if a.Kind != latex.Value || a.Expr.Op != algebra.Symbol {
		return region{}, false
	}
	name, ok := strings.CutPrefix(a.Expr.Name, `\mathbb `)
	if !ok || name == "" || !strings.Contains("ZNQRC", name[:1]) || len(name) > 2 {
		return region{}, false
	}
	zero := []latex.Answer{{Kind: latex.Value, Expr: algebra.Int(0)}}
	r := region{domain: name[0]}
	switch name[1:] {
	case "":
		r.set = line
	case "+":
		r.set = numbers{zero, []bool{false, false, true}}
	case "0":
		r.set = numbers{zero, []bool{false, true, true}}
	case "-":
		r.set = numbers{zero, []bool{true, false, false}}
	case "*":
		r.set = numbers{zero, []bool{true, false, true}}
	default:
		return r, false
	}
	return r, true
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
	} else if r.domain%'R' != s.domain%'R' && !s.set.finite() {
		return false
	} else if keep(false, true) && r.domain%'R' != s.domain%'R' {
		return false
	}
	var ok bool
	r.set, ok = r.set.combine(s.set, keep)
	return ok
}

// conditions is the region of a list of numbers, or of one of conditions on one variable,
// that hold together if they can, and else one or the other: x < 2, x > 3.
func (c *comparer) conditions(a latex.Answer, solve bool) (region, bool) {
	if len(a.Items) > maxItems {
		return region{}, false
	}
	if !slices.ContainsFunc(a.Items, func(item latex.Answer) bool { return item.Kind != latex.Value }) {
		set, ok := members(a.Items)
		return region{set: set}, ok
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
		stated := r.domain != 0 && len(r.set.breaks) == 0 // x ∈ ℤ
		if meet.set.in == nil || !meet.join(r, both) {
			return meet, false
		}
		if stated {
			union.join(r, both)
		} else if !union.join(r, either) {
			union.set.in = nil
		}
	}
	if a.Op != "∨" && !meet.set.empty() {
		return meet, true
	}
	if a.Op == "∧" && !solve {
		return meet, false // x < 1 and x > 3, which only a gold may say for "or"
	}
	return union, union.set.in != nil
}

// built is the region of {x ∈ S : …} with one variable.
func (c *comparer) built(a latex.Answer) (region, bool) {
	head := a.Items[0]
	all := region{name: nameOf(head), set: line}
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
			r.set, _ = line.combine(r.set, without)
			ok = ok && r.domain == 0
		}
		r.name = name
		return r, ok && name != ""
	}
	all := region{set: line}
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
		return region{name: name, set: line}, name != "" && strings.Contains(map[int]string{1: "<≤≠", -1: ">≥≠"}[infinity], rel)
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
	set, ok := where(difference, name, degree, func(sign int) bool {
		switch rel {
		case "<", "≤":
			return sign < 0 || sign == 0 && rel == "≤"
		case ">", "≥":
			return sign > 0 || sign == 0 && rel == "≥"
		}
		return (sign == 0) == (rel == "=")
	})
	return region{name: name, set: set}, ok && strings.Contains("< > ≤ ≥ = ≠", rel)
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

// where is the set of the numbers at which the sign of a polynomial of a degree up to the
// given one is as is says.
func where(e *algebra.Expr, name string, degree int, is func(sign int) bool) (numbers, bool) {
	c, ok := algebra.Coefficients(e, name, degree)
	if !ok || len(c) < 2 {
		return nothing, false
	}
	roots, ok := algebra.Roots(c)
	sign, known := algebra.Sign(c[len(c)-1])
	if !ok || !known {
		return nothing, false
	}
	all := numbers{in: []bool{is(sign)}}
	for _, root := range slices.Backward(roots) {
		if root.Odd {
			sign = -sign
		}
		all.breaks = append(all.breaks, latex.Answer{Kind: latex.Value, Expr: root.At})
		all.in = append(all.in, is(0), is(sign))
	}
	slices.Reverse(all.breaks)
	slices.Reverse(all.in)
	return all.combine(nothing, either)
}
