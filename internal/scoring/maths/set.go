package maths

import (
	"slices"
	"strings"

	"speceval/internal/scoring/maths/algebra"
	"speceval/internal/scoring/maths/latex"
)

// region is a set of numbers, in pieces: points in order, and the numbers before, between and behind
// them. No piece is like the next.
type region struct {
	name    string          // of the variable in it; "" for none
	domain  byte            // of its numbers: Z, N, Q, R or C; 0 where none is stated, which means R
	ends    []*algebra.Expr // the points
	at      []bool          // whether each of them is in it
	between []bool          // whether the numbers around them are, one more than there are points
}

// cut is the region of the numbers for which a test holds, which may change at some points alone.
func cut(ends []*algebra.Expr, holds func(x *algebra.Expr) bool) region {
	ends = slices.Clone(ends)
	slices.SortFunc(ends, algebra.Compare)
	ends = slices.CompactFunc(ends, func(x, y *algebra.Expr) bool { return algebra.Compare(x, y) == 0 })
	points := append(append([]*algebra.Expr{nil}, ends...), nil)
	r := region{between: []bool{holds(amid(nil, points[1]))}}
	for i, end := range ends {
		before, here, behind := r.between[len(r.ends)], holds(end), holds(amid(end, points[i+2]))
		if here != before || behind != before {
			r.ends, r.at, r.between = append(r.ends, end), append(r.at, here), append(r.between, behind)
		}
	}
	return r
}

// amid is a number between two points, or beside the one that is there.
func amid(low, high *algebra.Expr) *algebra.Expr {
	x := algebra.Int(0)
	switch {
	case low != nil && high != nil:
		x = algebra.Make(algebra.Div, algebra.Make(algebra.Add, low, high), algebra.Int(2))
	case low != nil:
		x = algebra.Make(algebra.Add, low, algebra.Int(1))
	case high != nil:
		x = algebra.Make(algebra.Add, high, algebra.Int(-1))
	}
	return algebra.Simplest(x)
}

// has reports whether a number is in r, if it is in the domain.
func (r region) has(x *algebra.Expr) bool {
	for i, end := range r.ends {
		if order := algebra.Compare(x, end); order < 0 {
			return r.between[i]
		} else if order == 0 {
			return r.at[i]
		}
	}
	return r.between[len(r.ends)]
}

// finite reports whether r has no intervals.
func (r region) finite() bool { return !slices.Contains(r.between, true) }

// join combines r with another region: an intersection is of the narrower numbers.
func (c *comparer) join(r *region, s region, keep func(a, b bool) bool) bool {
	ends, size := slices.Concat(r.ends, s.ends), 0
	for _, end := range ends { // comparing sines takes longer than comparing roots, and roots than numbers
		n := end.Size(enoughWork)
		size = min(size+n*n, enoughWork)
	}
	if !c.spend(4 * len(ends) * size) {
		return false
	}
	const narrower = "\x00CRQZN"
	domain := r.domain
	if !keep(true, false) {
		domain = narrower[max(strings.IndexByte(narrower, r.domain), strings.IndexByte(narrower, s.domain))]
	} else if r.domain%'R' != s.domain%'R' && (keep(false, true) || !s.finite()) {
		return false
	}
	if r.name != "" && s.name != "" && r.name != s.name {
		return false
	}
	name, inner := max(r.name, s.name), *r
	*r = cut(ends, func(x *algebra.Expr) bool { return keep(inner.has(x), s.has(x)) })
	r.name, r.domain = name, domain
	return true
}

func both(a, b bool) bool    { return a && b }
func either(a, b bool) bool  { return a || b }
func without(a, b bool) bool { return a && !b }

// settle makes a finite set of integers one of the domain Z. Whether zero is a natural number is
// left open: a set of natural numbers that reaches zero keeps its domain, and equals no other.
func (c *comparer) settle(r *region) {
	isInteger := func(x *algebra.Expr) bool { n, ok := algebra.Exact(x); return ok && n.IsInt() }
	switch zero := algebra.Int(0); {
	case r.domain == 'N' && !r.has(zero):
		c.join(r, cut([]*algebra.Expr{zero}, func(x *algebra.Expr) bool { return algebra.Compare(x, zero) > 0 }), both)
		r.domain = 'Z'
	case r.domain%'R' == 0 && r.finite() && !slices.ContainsFunc(r.ends, func(x *algebra.Expr) bool { return !isInteger(x) }):
		r.domain = 'Z'
	case r.domain == 0:
		r.domain = 'R'
	}
}

// maxIntegers bounds the integers among which sets of them are compared.
const maxIntegers = 2000

// equal reports whether two regions that are settled have the same numbers.
func (r region) equal(s region) bool {
	if r.domain != s.domain {
		return false
	}
	ends := slices.Concat(r.ends, s.ends)
	same := slices.Equal(r.at, s.at) && slices.Equal(r.between, s.between) && slices.EqualFunc(r.ends, s.ends, func(x, y *algebra.Expr) bool { return algebra.Compare(x, y) == 0 })
	if same || r.domain != 'Z' || len(ends) == 0 {
		return same
	}
	first, okFirst := algebra.Float(slices.MinFunc(ends, algebra.Compare))
	last, okLast := algebra.Float(slices.MaxFunc(ends, algebra.Compare))
	if !okFirst || !okLast || last-first > maxIntegers || max(-first, last) > 1<<50 {
		return false
	}
	for k := int64(first) - 2; k <= int64(last)+2; k++ {
		if x := algebra.Int(k); r.has(x) != s.has(x) {
			return false
		}
	}
	return true
}

// equalSets compares sets of numbers in whichever way they are given: as lists, intervals, unions
// of them, inequalities or conditions. An equation or an inequality of gold may have to be solved;
// that of an answer is solved already.
func (c *comparer) equalSets(g, p latex.Answer) bool {
	if g.Kind == latex.Union && p.Kind == latex.Union && g.Op == p.Op && len(g.Items) == len(p.Items) && len(g.Items) <= maxItems &&
		(g.Op == "∖" && c.inOrder(g.Items, p.Items) || g.Op != "∖" && c.matched(g.Items, p.Items, c.equal, false)) {
		return true
	}
	a, ok := c.region(g, true)
	if !ok {
		return false
	}
	b, ok := c.region(p, false)
	named := func(r region) bool { return r.name != "" && r.name != latex.Nameless }
	if !ok || a.name != b.name && named(a) && named(b) {
		return false
	}
	c.settle(&a)
	c.settle(&b)
	return a.equal(b)
}

// region is the set of numbers that an answer is.
func (c *comparer) region(a latex.Answer, solve bool) (region, bool) {
	if !c.spend(10) {
		return region{}, false
	}
	everything, nothing := region{between: []bool{true}}, region{between: []bool{false}}
	switch a.Kind {
	case latex.Tuple:
		return interval(a)
	case latex.Set:
		return members(a.Items)
	case latex.Value:
		if r, ok := setOfNumbers(a); ok || solve || a.Unit != "" || a.Percent {
			return r, ok
		}
		return members([]latex.Answer{a}) // 1, of (x−1)² = 0
	case latex.Words:
		switch phrase(a.Text) {
		case "emptyset", "nullset", "nosolution":
			return nothing, true
		}
		return everything, a.Text == "all real numbers" || a.Text == "all reals" || a.Text == "real numbers"
	case latex.Relation:
		return c.solutions(a, solve)
	case latex.List:
		return c.conditions(a, solve)
	case latex.Union:
		keep := map[string]func(a, b bool) bool{"∪": either, "∩": both, "∖": without}[a.Op]
		all, ok := c.region(a.Items[0], solve)
		for _, item := range a.Items[1:] {
			next, is := region{}, false
			if ok {
				next, is = c.region(item, solve)
			}
			ok = is && c.join(&all, next, keep)
		}
		return all, ok
	case latex.Builder: // {x ∈ S : …} with one variable
		head := a.Items[0]
		all, ok := everything, true
		if all.name = nameOf(head); head.Kind == latex.Relation {
			all, ok = c.solutions(head, true)
			ok = ok && head.Rels[0] == "∈"
		}
		for _, condition := range a.Items[1:] {
			r, is := c.region(condition, true)
			ok = ok && is && all.name != "" && r.name == all.name && c.join(&all, r, both)
		}
		all.name = ""
		return all, ok
	}
	return region{}, false
}

// point is a real number as an end of a region.
func point(a latex.Answer) (*algebra.Expr, bool) {
	if a.Kind != latex.Value || nameOf(a) != "" {
		return nil, false
	}
	if r, ok := algebra.Exact(a.Expr); ok {
		return algebra.Rational(r), true
	}
	_, ok := algebra.Float(a.Expr)
	return a.Expr, ok
}

// interval is the set between two ends, which are infinite or may be in the set.
func interval(a latex.Answer) (region, bool) {
	if len(a.Items) != 2 {
		return region{}, false
	}
	closed := [...]bool{a.Open == '[', a.Close == ']'}
	var ends []*algebra.Expr
	for i, item := range a.Items {
		if item.Kind == latex.Value && algebra.Infinite(item.Expr) == 2*i-1 && !closed[i] {
			continue
		}
		x, ok := point(item)
		if !ok {
			return region{}, false
		}
		ends = append(ends, x)
	}
	if len(ends) == 2 {
		if order := algebra.Compare(ends[0], ends[1]); order > 0 || order == 0 && (!closed[0] || !closed[1]) {
			return region{}, false
		}
	}
	return cut(ends, func(x *algebra.Expr) bool {
		for i, item := range a.Items {
			if algebra.Infinite(item.Expr) != 0 {
				continue
			} else if order := algebra.Compare(x, item.Expr) * (1 - 2*i); order < 0 || order == 0 && !closed[i] {
				return false
			}
		}
		return true
	}), true
}

// members is a finite set of numbers.
func members(items []latex.Answer) (region, bool) {
	var all []*algebra.Expr
	for _, item := range items {
		x, ok := point(item)
		if !ok || len(all) == maxItems {
			return region{}, false
		}
		all = append(all, x)
	}
	return cut(all, func(x *algebra.Expr) bool {
		return slices.ContainsFunc(all, func(y *algebra.Expr) bool { return algebra.Compare(x, y) == 0 })
	}), true
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
	zero := algebra.Int(0)
	signs := map[string]string{"": "<=>", "+": ">", "0": "=>", "-": "<", "*": "<>"}[name[1:]]
	r := cut([]*algebra.Expr{zero}, func(x *algebra.Expr) bool { return strings.IndexByte(signs, "<=>"[1+algebra.Compare(x, zero)]) >= 0 })
	r.domain = name[0]
	return r, signs != ""
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
	parts := true // the union is one of numbers of the same domain
	last := a.Items[0]
	for i, item := range a.Items {
		if item.Kind == latex.Value && last.Kind == latex.Relation && len(last.Rels) == 1 && strings.Contains("≠=", last.Rels[0]) { // x ≠ 2, 3
			item = latex.Answer{Kind: latex.Relation, Items: []latex.Answer{last.Items[0], item}, Rels: last.Rels}
		}
		if last = item; item.Kind != latex.Relation {
			return meet, false
		}
		r, ok := c.region(item, solve)
		stated := r.domain != 0 && len(r.ends) == 0 // x ∈ ℤ
		switch {
		case !ok:
			return meet, false
		case i == 0:
			meet, union = r, r
		case !c.join(&meet, r, both):
			return meet, false
		case stated:
			c.join(&union, r, both)
		default:
			parts = parts && c.join(&union, r, either)
		}
	}
	if a.Op != "∨" && !(meet.finite() && !slices.Contains(meet.at, true)) {
		return meet, true
	}
	return union, parts && (a.Op != "∧" || solve) // x < 1 and x > 3, which only a gold may say for "or"
}

// solutions is the region that a relation gives a variable: x > 2, 1 < x ≤ 5, x ≠ 3,
// x ∈ S, |x − 8| < 7, and x² = 4 if it is to be solved.
func (c *comparer) solutions(a latex.Answer, solve bool) (region, bool) {
	if len(a.Rels) == 1 && (a.Rels[0] == "∈" || a.Rels[0] == "∉") {
		r, ok := c.region(a.Items[1], solve)
		if ok && a.Rels[0] == "∉" {
			ok, r = r.domain == 0, cut(r.ends, func(x *algebra.Expr) bool { return !r.has(x) })
		}
		r.name = nameOf(a.Items[0])
		return r, ok && r.name != ""
	}
	all := region{between: []bool{true}}
	for i, rel := range a.Rels {
		r, ok := c.solution(a.Items[i], a.Items[i+1], rel, solve)
		if !ok || len(a.Rels) > 1 && (rel == "=" || rel == "≠") || !c.join(&all, r, both) {
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

// solution is the region that a relation between two sides gives its only variable, or the one
// that stands by itself: of an inequality of the first degree, or of the second if it is to be
// solved or of a distance.
func (c *comparer) solution(left, right latex.Answer, rel string, solve bool) (region, bool) {
	l, name := side(left)
	r, other := side(right)
	signs := map[string]string{"<": "<", "≤": "<=", ">": ">", "≥": "=>", "=": "=", "≠": "<>"}[rel]
	if l == nil || r == nil || signs == "" || name != "" && other != "" || !c.spend(numericWork*(l.Size(enoughWork)+r.Size(enoughWork))) {
		return region{}, false
	}
	name += other
	if infinity := algebra.Infinite(r) - algebra.Infinite(l); infinity != 0 {
		return region{name: name, between: []bool{true}}, name != "" && strings.Contains(map[int]string{1: "<≤≠", -1: ">≥≠"}[infinity], rel)
	}
	if rel == "=" && name == "" && !solve {
		return region{}, false
	}
	if name == "" {
		variables := algebra.Variables(algebra.Make(algebra.Add, l, r))
		if len(variables) != 1 {
			return region{}, false
		}
		name = variables[0]
	}
	degree := 1
	if solve {
		degree = 2
	}
	if isSize(l, r) || isSize(r, l) { // |p| < 5 is p² < 5²
		l, r, degree = squared(l), squared(r), 2
	}
	difference := algebra.Make(algebra.Add, l, algebra.Make(algebra.Neg, r))
	zeros, ok := algebra.Zeros(difference, name, degree)
	if !ok {
		return region{}, false
	}
	all := cut(zeros, func(x *algebra.Expr) bool {
		sign, _ := algebra.Sign(algebra.Rewrite(difference, func(e *algebra.Expr) *algebra.Expr {
			if e.Op == algebra.Symbol && e.Name == name {
				return x
			}
			return nil
		}))
		return strings.IndexByte(signs, "<=>"[1+sign]) >= 0
	})
	all.name = name
	return all, true
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
