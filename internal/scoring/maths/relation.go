package maths

import (
	"cmp"
	"slices"
	"strings"

	"speceval/internal/scoring/maths/algebra"
	"speceval/internal/scoring/maths/latex"
)

// definition reads x = 5, 5 = x, x = 2 + 3 = 5 and x ∈ S: the name, and what it
// stands for; "" where nothing is defined.
func definition(a latex.Answer) (name string, value latex.Answer) {
	if a.Kind != latex.Relation {
		return "", value
	}
	items, rels := a.Items, a.Rels
	if i := slices.Index(rels, "≈"); i >= 0 { // x = 1/3 ≈ 0.33
		items, rels = items[:i+1], rels[:i]
		if len(rels) == 0 {
			items, rels = a.Items[:2], []string{"="}
		}
	}
	for _, rel := range rels {
		if rel != "=" && rel != "∈" || rel == "∈" && len(rels) > 1 {
			return "", value
		}
	}
	last := len(items) - 1
	if name := nameOf(items[0]); name != "" {
		return name, items[last]
	}
	if name := nameOf(items[last]); name != "" && rels[0] == "=" && last == 1 {
		return name, items[0]
	}
	return "", value
}

// definitions are the names that items define, and what they stand for; none if an item defines none.
func definitions(items []latex.Answer) (names []string, values []latex.Answer) {
	for _, item := range items {
		name, value := definition(item)
		if name == "" {
			return nil, nil
		}
		names, values = append(names, name), append(values, value)
	}
	return names, values
}

// nameOf is the name that an answer is: a variable, f(x), words, a segment AB, or a tuple of
// variables. It is "" for an answer that is no name.
func nameOf(a latex.Answer) string {
	switch a.Kind {
	case latex.Words:
		return a.Text
	case latex.Value:
		return nameOfExpr(a.Expr)
	case latex.Tuple:
		if names := namesOf(a.Items, ","); names != "" {
			return "(" + names + ")"
		}
	case latex.Ratio: // AB:BC
		return namesOf(a.Items, ":")
	}
	return ""
}

// namesOf are the names of all items; "" if one has none.
func namesOf(items []latex.Answer, separator string) string {
	var names []string
	for _, item := range items {
		name := nameOf(item)
		if name == "" {
			return ""
		}
		names = append(names, name)
	}
	return strings.Join(names, separator)
}

func nameOfExpr(e *algebra.Expr) string {
	switch e.Op {
	case algebra.Symbol:
		if strings.HasPrefix(e.Name, `\mathbb`) || '0' <= e.Name[0] && e.Name[0] <= '9' {
			return ""
		}
		return e.Name
	case algebra.Imaginary, algebra.Euler:
		return "" // constants, if of one letter
	case algebra.Call:
		if e.Name[0] == '\\' { // a sum of several terms
			return e.Name
		}
		if name := nameOfExpr(e.Args[0]); e.Name == "abs" && name != "" { // |AB|
			return "|" + name + "|"
		}
	case algebra.Div: // dy/dx
		if above, below := nameOfDifferential(e.Args[0]), nameOfDifferential(e.Args[1]); above != "" && below != "" {
			return above + "/" + below
		}
		if above, below := nameOfExpr(e.Args[0]), nameOfExpr(e.Args[1]); len(above) > 1 && len(below) > 1 && e.Args[0].Op == algebra.Mul { // AB/CD
			return above + "/" + below
		}
	case algebra.Mul: // a segment AB, or m∠A, or the inverse f^{-1}(x)
		if f := e.Args[0]; len(e.Args) == 2 && f.Op == algebra.Pow && algebra.Same(f.Args[1], algebra.Make(algebra.Neg, algebra.Int(1))) &&
			f.Args[0].Op == algebra.Symbol && strings.Contains("fgh", f.Args[0].Name) && e.Args[1].Op == algebra.Symbol {
			return f.Args[0].Name + "^-1(" + e.Args[1].Name + ")"
		}
		name, angle := "", false
		for _, arg := range e.Args {
			if arg.Op != algebra.Symbol {
				return ""
			}
			name += arg.Name
			angle = angle || strings.HasPrefix(arg.Name, `\angle`)
		}
		if angle || strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ'") == "" {
			return name
		}
	}
	return ""
}

// nameOfDifferential reads dx.
func nameOfDifferential(e *algebra.Expr) string {
	if e.Op != algebra.Mul || len(e.Args) != 2 || e.Args[0].Op != algebra.Symbol || e.Args[0].Name != "d" || e.Args[1].Op != algebra.Symbol {
		return ""
	}
	return "d" + e.Args[1].Name
}

// equalRelations compares where at least one side is a relation. One that does not
// hold says nothing.
func (c *comparer) equalRelations(g, p latex.Answer) bool {
	if c.fails(p) {
		return false
	}
	gName, gValue := definition(g)
	pName, pValue := definition(p)
	if a, b := coordinatesOf(g), coordinatesOf(p); gName != pName && assigned(a) && assigned(b) {
		return c.matched(a, b, c.equal, false)
	}
	switch {
	case gName != "" && pName != "":
		gName, pName, pValue = sameArgument(gName, pName, pValue)
		if sameName(gName, pName) && c.equal(gValue, pValue) {
			return true
		}
		return c.equivalent(g, p)
	case g.Kind != latex.Relation:
		if pName != "" {
			g.Clock = g.Clock && !strings.Contains(pName, ":")
			return c.equal(g, pValue) || bounds(g) && c.equalSets(g, p)
		}
		value, ok := c.computed(p, false)
		return ok && c.equal(g, value) || c.equalSets(g, p)
	case p.Kind != latex.Relation:
		if gName != "" {
			return c.equal(gValue, p) || gName[0] == '|' && c.equalSets(g, p) // |x| = 3
		}
		value, ok := c.computed(g, true)
		return ok && c.equal(value, p) || c.equalSets(g, p)
	}
	return c.equivalent(g, p) || c.equalSets(g, p)
}

// coordinatesOf are the items of a list, and those of x = 1, y = 2 for (x, y) = (1, 2).
func coordinatesOf(a latex.Answer) []latex.Answer {
	if a.Kind == latex.List {
		return a.Items
	}
	var items []latex.Answer
	if a.Kind == latex.Relation && len(a.Items) == 2 && a.Rels[0] == "=" {
		names, values := a.Items[0], a.Items[1]
		for i := range names.Items {
			if names.Kind != latex.Tuple || values.Kind != latex.Tuple || len(names.Items) != len(values.Items) {
				return nil
			}
			items = append(items, latex.Answer{Kind: latex.Relation, Rels: a.Rels, Items: []latex.Answer{names.Items[i], values.Items[i]}})
		}
	}
	return items
}

// sameArgument renames the arguments of a function, f(t) = t² for f(x) = x².
func sameArgument(g, p string, value latex.Answer) (string, string, latex.Answer) {
	name, rest, ok := strings.Cut(g, "(")
	other, tail, okay := strings.Cut(p, "(")
	from, to := strings.Split(strings.TrimSuffix(tail, ")"), ","), strings.Split(strings.TrimSuffix(rest, ")"), ",")
	not := func(text string) bool { return !variable(text) }
	if !ok || !okay || name == "" || name != other || len(from) != len(to) || slices.ContainsFunc(from, not) || slices.ContainsFunc(to, not) {
		return g, p, value
	}
	return g, g, renamed(value, from, to)
}

// variable reports whether a text is the name of one.
func variable(text string) bool {
	return len(text) == 1 && !strings.Contains("ei", text) && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz") == "" || strings.HasPrefix(text, `\`)
}

// fails reports whether an equation between two numbers does not hold, 4 = 5 or
// x = 2 + 2 = 5. A side may be rounded.
func (c *comparer) fails(a latex.Answer) bool {
	for i, rel := range a.Rels {
		if left, right := a.Items[i], a.Items[i+1]; rel == "=" && constant(left) && constant(right) && !c.equalValues(left, right) && !rounds(left.Expr, right.Expr) {
			return true
		}
	}
	return false
}

// rounds reports whether b is a, rounded to its last place.
func rounds(a, b *algebra.Expr) bool {
	d, ok := decimal(b)
	return ok && algebra.Near(a, d.value, d.half)
}

// sameName reports whether two values with names may be the same: the names are equal, or
// one is words like "the function is".
func sameName(a, b string) bool {
	words := func(s string) bool {
		return len(s) > 2 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz ") == ""
	}
	return strings.EqualFold(a, b) || words(a) || words(b)
}

// computed is the value of a computation, 2 + 3 = 5 or a + b = 2 + 3 = 5, or of a
// response the total m + n = 5. A rounded value does not count: 1/3 in 1/3 ≈ 0.33.
func (c *comparer) computed(relation latex.Answer, isGold bool) (value latex.Answer, ok bool) {
	if !equates(relation) {
		return value, false
	}
	computation := relation.Items
	if left, right := computation[0], computation[1]; !isGold && len(computation) == 2 && left.Kind == latex.Value && right.Kind == latex.Value && c.same(left.Expr, right.Expr) {
		return right, true // for all values of their variables
	}
	if len(computation) > 2 || !isGold && isTotal(computation[0]) {
		computation = computation[1:]
	}
	if slices.ContainsFunc(computation, func(item latex.Answer) bool { return !constant(item) }) {
		return value, false
	}
	if i := slices.Index(relation.Rels, "≈"); i >= 0 {
		return relation.Items[i], true
	}
	return computation[len(computation)-1], true
}

// constant reports whether an answer is a value without variables.
func constant(a latex.Answer) bool {
	return a.Kind == latex.Value && len(algebra.Variables(a.Expr)) == 0
}

// equates reports whether a relation has no other signs than those of equations.
func equates(a latex.Answer) bool { return strings.Trim(strings.Join(a.Rels, ""), "=≈") == "" }

// isTotal reports whether an answer is a sum of several variables, such as the m + n that a
// question has asked for.
func isTotal(a latex.Answer) bool {
	if a.Kind != latex.Value || a.Expr.Op != algebra.Add {
		return false
	}
	for _, term := range a.Expr.Args {
		if term.Op == algebra.Neg {
			term = term.Args[0]
		}
		if term.Op == algebra.Mul && len(term.Args) == 2 && term.Args[0].Op == algebra.Number {
			term = term.Args[1]
		}
		if term.Op != algebra.Symbol {
			return false
		}
	}
	return true
}

// equivalent reports whether two relations between two sides hold for the same values of
// their variables, as far as a constant factor shows.
func (c *comparer) equivalent(g, p latex.Answer) bool {
	if len(g.Rels) != 1 || len(p.Rels) != 1 { // a < b < c is c > b > a
		back := reversed(p)
		return slices.Equal(g.Rels, p.Rels) && c.inOrder(g.Items, p.Items) || slices.Equal(g.Rels, back.Rels) && c.inOrder(g.Items, back.Items)
	}
	gRel, pRel := g.Rels[0], p.Rels[0]
	gDiff, ok := difference(g)
	pDiff, okay := difference(p)
	if !ok || !okay {
		return gRel == pRel && c.inOrder(g.Items, p.Items)
	}
	if !c.spend(numericWork * (gDiff.Size(enoughWork) + pDiff.Size(enoughWork))) {
		return false
	}
	sign := algebra.Ratio(gDiff, pDiff)
	if sign < 0 {
		pRel = cmp.Or(turned[pRel], pRel)
	}
	return sign != 0 && gRel == pRel
}

func difference(a latex.Answer) (*algebra.Expr, bool) {
	if a.Items[0].Kind != latex.Value || a.Items[1].Kind != latex.Value {
		return nil, false
	}
	return algebra.Make(algebra.Add, a.Items[0].Expr, algebra.Make(algebra.Neg, a.Items[1].Expr)), true
}

// turned are relations with their sides exchanged; others are the same then.
var turned = map[string]string{"<": ">", ">": "<", "≤": "≥", "≥": "≤"}

func reversed(a latex.Answer) latex.Answer {
	a.Items, a.Rels = slices.Clone(a.Items), slices.Clone(a.Rels)
	slices.Reverse(a.Items)
	slices.Reverse(a.Rels)
	for i, rel := range a.Rels {
		a.Rels[i] = cmp.Or(turned[rel], rel)
	}
	return a
}
