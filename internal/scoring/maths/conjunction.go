package maths

import (
	"strings"

	"speceval/internal/scoring/maths/algebra"
	"speceval/internal/scoring/maths/latex"
)

// conjunction is the region of a list of conditions on one variable that hold
// together: x ≥ 2 and x < 3, or x ≠ 2, x ≠ 3. Bounds that do not meet, x < 2
// and x > 3, are no conjunction, whatever the word between them.
func conjunction(a latex.Answer) (name string, parts []latex.Answer, ok bool) {
	if a.Op == "∨" || len(a.Items) < 2 || len(a.Items) > maxItems {
		return "", nil, false
	}
	if name, holes, ok := exceptions(a.Items); ok {
		reals := latex.Answer{Kind: latex.Value, Expr: algebra.Var(`\mathbb R`)}
		parts, ok := punctured(latex.Answer{Kind: latex.Union, Op: "∖", Items: []latex.Answer{reals, {Kind: latex.Set, Items: holes}}})
		return name, parts, ok
	}
	if len(a.Items) != 2 {
		return "", nil, false
	}
	name, low, ok := ray(a.Items[0])
	other, high, okay := ray(a.Items[1])
	if !ok || !okay || name != other {
		return "", nil, false
	}
	if algebra.Infinite(low.Items[0].Expr) != 0 {
		low, high = high, low
	}
	from, to := low.Items[0], high.Items[1]
	if algebra.Infinite(from.Expr) != 0 || algebra.Infinite(to.Expr) != 0 || algebra.Ratio(algebra.Make(algebra.Add, to.Expr, algebra.Make(algebra.Neg, from.Expr)), algebra.Int(1), nil) <= 0 {
		return "", nil, false
	}
	return name, []latex.Answer{interval(from, to, low.Open, high.Close)}, true
}

// ray is the region of one inequality between a variable and a bound.
func ray(a latex.Answer) (name string, part latex.Answer, ok bool) {
	if a.Kind != latex.Relation || len(a.Rels) != 1 || strings.Contains("=≠≈∈", a.Rels[0]) {
		return "", part, false
	}
	name, parts, ok := solutions(a)
	if !ok || name == "" || len(parts) != 1 || strings.Contains(name, "|") {
		return "", part, false
	}
	ends := parts[0].Items
	if ends[0].Kind != latex.Value || ends[1].Kind != latex.Value || algebra.Infinite(ends[0].Expr) == 0 && algebra.Infinite(ends[1].Expr) == 0 {
		return "", part, false
	}
	return name, parts[0], true
}

// exceptions are the values that a variable does not have: x ≠ 2, x ≠ 3.
func exceptions(items []latex.Answer) (name string, holes []latex.Answer, ok bool) {
	for i, item := range items {
		if i > 0 && item.Kind == latex.Value { // x ≠ 2, 3
			holes = append(holes, item)
			continue
		}
		if item.Kind != latex.Relation || len(item.Rels) != 1 || item.Rels[0] != "≠" {
			return "", nil, false
		}
		n := nameOf(item.Items[0])
		if n == "" || name != "" && n != name {
			return "", nil, false
		}
		name = n
		holes = append(holes, item.Items[1])
	}
	return name, holes, true
}
