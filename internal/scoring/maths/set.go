package maths

import (
	"math/big"
	"slices"
	"strings"

	"speceval/internal/scoring/maths/algebra"
	"speceval/internal/scoring/maths/latex"
)

// equalSets compares sets of numbers in whichever way they are given: as
// intervals, unions of them, or inequalities.
func (c *comparer) equalSets(g, p latex.Answer) bool {
	if _, _, meet := conjunction(p); p.Kind == latex.List && p.Op == "∧" && !meet {
		return false // x < 1 and x > 3, which only a gold may say for "or"
	}
	gName, gParts, ok := region(g)
	pName, pParts, okay := region(p)
	if !ok || !okay || gName != pName && named(gName) && named(pName) {
		return false
	}
	return len(gParts) == len(pParts) && len(gParts) <= maxItems && c.matched(gParts, pParts, c.equalParts, false)
}

// named tells whether a region says what is in it.
func named(name string) bool { return name != "" && name != latex.Nameless }

// equalParts compares parts of unions.
func (c *comparer) equalParts(g, p latex.Answer) bool {
	if g.Kind != p.Kind {
		return false
	}
	if g.Kind != latex.Union {
		return c.equal(g, p)
	}
	if g.Op == "∩" && p.Op == "∩" && len(g.Items) == len(p.Items) {
		return c.matched(g.Items, p.Items, c.equal, false)
	}
	return g.Op == p.Op && c.inOrder(g.Items, p.Items)
}

// region is a union of intervals and sets, and the variable that is in it, if
// it is named.
func region(a latex.Answer) (name string, parts []latex.Answer, ok bool) {
	switch a.Kind {
	case latex.Tuple:
		return "", []latex.Answer{a}, len(a.Items) == 2
	case latex.Set:
		return "", []latex.Answer{a}, true
	case latex.Value:
		if isReals(a) {
			return "", []latex.Answer{interval(infinite(-1), infinite(1), '(', ')')}, true
		}
	case latex.Words:
		if isEmpty(a) {
			return "", []latex.Answer{{Kind: latex.Set}}, true
		}
		switch a.Text {
		case "all real numbers", "all reals", "real numbers":
			return "", []latex.Answer{interval(infinite(-1), infinite(1), '(', ')')}, true
		}
	case latex.Relation:
		return solutions(a)
	case latex.List: // x < 1 or x > 3
		if name, parts, ok := conjunction(a); ok {
			return name, parts, true
		}
		for _, item := range a.Items {
			if item.Kind != latex.Relation {
				return "", nil, false
			}
		}
		return joined(a.Items)
	case latex.Union:
		if a.Op == "∪" {
			return joined(a.Items)
		}
		if parts, ok := punctured(a); ok {
			return "", parts, true
		}
		return "", []latex.Answer{a}, true
	}
	return "", nil, false
}

// punctured is the real line without some rational numbers, ℝ∖{0}, as
// intervals.
func punctured(a latex.Answer) ([]latex.Answer, bool) {
	if a.Op != "∖" || len(a.Items) != 2 || !isReals(a.Items[0]) || a.Items[1].Kind != latex.Set || len(a.Items[1].Items) > maxItems {
		return nil, false
	}
	holes := slices.Clone(a.Items[1].Items)
	values := make(map[*algebra.Expr]*big.Rat)
	for _, hole := range holes {
		r, ok := rational(hole)
		if !ok {
			return nil, false
		}
		values[hole.Expr] = r
	}
	slices.SortFunc(holes, func(a, b latex.Answer) int { return values[a.Expr].Cmp(values[b.Expr]) })
	var parts []latex.Answer
	from := infinite(-1)
	for _, hole := range append(holes, infinite(1)) {
		parts = append(parts, interval(from, hole, '(', ')'))
		from = hole
	}
	return parts, true
}

func rational(a latex.Answer) (*big.Rat, bool) {
	if a.Kind != latex.Value {
		return nil, false
	}
	return algebra.Exact(a.Expr)
}

func isReals(a latex.Answer) bool {
	return a.Kind == latex.Value && a.Expr.Op == algebra.Symbol && a.Expr.Name == `\mathbb R`
}

// joined is the union of regions.
func joined(items []latex.Answer) (name string, parts []latex.Answer, ok bool) {
	for _, item := range items {
		n, more, ok := region(item)
		if !ok || name != "" && n != "" && n != name {
			return "", nil, false
		}
		if n != "" {
			name = n
		}
		for _, part := range more {
			parts = include(parts, part)
		}
	}
	return name, parts, true
}

// include adds a part to a union. Sets of single elements become one.
func include(parts []latex.Answer, part latex.Answer) []latex.Answer {
	if part.Kind == latex.Set {
		for i := range parts {
			if parts[i].Kind == latex.Set {
				parts[i].Items = append(slices.Clone(parts[i].Items), part.Items...)
				return parts
			}
		}
	}
	return append(parts, part)
}

func infinite(sign int) latex.Answer {
	e := algebra.Make(algebra.Infinity)
	if sign < 0 {
		e = algebra.Make(algebra.Neg, e)
	}
	return latex.Answer{Kind: latex.Value, Expr: e}
}

func interval(from, to latex.Answer, open, shut byte) latex.Answer {
	return latex.Answer{Kind: latex.Tuple, Items: []latex.Answer{from, to}, Open: open, Close: shut}
}

// solutions is the region that inequalities give a variable: x > 2, 1 < x ≤ 5,
// x ≠ 3, and x ∈ S.
func solutions(a latex.Answer) (name string, parts []latex.Answer, ok bool) {
	if name, value, ok := definition(a); ok && a.Rels[0] == "∈" {
		_, parts, ok := region(value)
		return name, parts, ok
	}
	if around, center, ok := distance(a); ok { // |x - 8| < 7
		name, parts, ok := solutions(around)
		return name, moved(parts, center), ok
	}
	switch a.Rels[0] {
	case ">", "≥":
		a = reversed(a)
	}
	if nameOf(a.Items[0]) == "" && len(a.Items) == 2 && a.Rels[0] == "≠" {
		a = reversed(a)
	}
	from, to := infinite(-1), infinite(1)
	open, shut := byte('('), byte(')')
	switch {
	case a.Rels[0] == "≠" && len(a.Items) == 2 && nameOf(a.Items[0]) != "":
		return nameOf(a.Items[0]), []latex.Answer{
			interval(from, a.Items[1], open, shut), interval(a.Items[1], to, open, shut)}, true
	case strings.Trim(strings.Join(a.Rels, ""), "<≤") != "":
		return "", nil, false
	case len(a.Items) == 2 && nameOf(a.Items[0]) != "" && nameOf(a.Items[1]) == "":
		name, to = nameOf(a.Items[0]), a.Items[1]
		shut = bracket(a.Rels[0], ')', ']')
	case len(a.Items) == 2 && nameOf(a.Items[1]) != "" && nameOf(a.Items[0]) == "":
		from, name = a.Items[0], nameOf(a.Items[1])
		open = bracket(a.Rels[0], '(', '[')
	case len(a.Items) == 3 && nameOf(a.Items[1]) != "":
		from, name, to = a.Items[0], nameOf(a.Items[1]), a.Items[2]
		open, shut = bracket(a.Rels[0], '(', '['), bracket(a.Rels[1], ')', ']')
	default:
		return "", nil, false
	}
	if inner := strings.Trim(name, "|"); inner != name && len(a.Items) == 2 && from.Kind == latex.Value && algebra.Infinite(from.Expr) == 0 { // |x| > 3
		if algebra.Ratio(from.Expr, algebra.Int(1), nil) <= 0 {
			return "", nil, false
		}
		return inner, []latex.Answer{interval(infinite(-1), negative(from), '(', bracket(a.Rels[0], ')', ']')), interval(from, to, open, ')')}, true
	} else if inner != name { // |x| < 3
		bounded := len(a.Items) == 2 && to.Kind == latex.Value && algebra.Infinite(to.Expr) == 0
		return inner, []latex.Answer{interval(negative(to), to, bracket(a.Rels[0], '(', '['), shut)}, bounded
	}
	return name, []latex.Answer{interval(from, to, open, shut)}, true
}

// distance reads an inequality on the distance of a variable to a number, as one on
// the size of the variable and that number.
func distance(a latex.Answer) (around latex.Answer, center *algebra.Expr, ok bool) {
	if len(a.Items) != 2 || a.Items[0].Kind != latex.Value {
		return a, nil, false
	}
	e := a.Items[0].Expr
	if e.Op != algebra.Call || e.Name != "abs" || e.Args[0].Op != algebra.Add || len(e.Args[0].Args) != 2 {
		return a, nil, false
	}
	sum := e.Args[0].Args
	if _, known := algebra.Exact(sum[1]); !known || sum[0].Op != algebra.Symbol {
		return a, nil, false
	}
	a.Items = slices.Clone(a.Items)
	a.Items[0].Expr = algebra.Apply("abs", sum[0])
	return a, algebra.Make(algebra.Neg, sum[1]), true
}

// moved are intervals with a number added to their ends.
func moved(parts []latex.Answer, by *algebra.Expr) []latex.Answer {
	for i, part := range parts {
		parts[i].Items = slices.Clone(part.Items)
		for j, end := range part.Items {
			if end.Kind == latex.Value && algebra.Infinite(end.Expr) == 0 {
				parts[i].Items[j].Expr = algebra.Make(algebra.Add, end.Expr, by)
			}
		}
	}
	return parts
}

func negative(a latex.Answer) latex.Answer {
	if a.Kind == latex.Value {
		a.Expr = algebra.Make(algebra.Neg, a.Expr)
	}
	return a
}

// bracket is the one for an end that is not part of an interval, or is.
func bracket(rel string, without, with byte) byte {
	if rel == "≤" {
		return with
	}
	return without
}
