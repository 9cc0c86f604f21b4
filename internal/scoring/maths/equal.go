package maths

import (
	"math/big"
	"slices"
	"strings"

	"speceval/internal/scoring/maths/algebra"
	"speceval/internal/scoring/maths/latex"
)

// comparer compares answers with a bounded effort. Once its work is used up
// nothing is equal.
type comparer struct {
	work int
}

// Work of a comparison, in nodes of expressions; one that is evaluated at
// several points counts numericWork times.
const (
	enoughWork  = 60000
	numericWork = 20
)

func newComparer() *comparer { return &comparer{work: enoughWork} }

// spend pays for work, as far as there is any left.
func (c *comparer) spend(work int) bool {
	c.work -= work
	return c.work > 0
}

// same reports whether two expressions are equal.
func (c *comparer) same(a, b *algebra.Expr) bool {
	n := a.Size(enoughWork) + b.Size(enoughWork)
	if a.Op != algebra.Number || b.Op != algebra.Number {
		n *= numericWork
	}
	return c.spend(n) && algebra.Equal(a, b)
}

// equal reports whether the answer p is right, where g is gold.
func (c *comparer) equal(g, p latex.Answer) bool {
	if !c.spend(1) {
		return false
	}
	g, p = spelledOut(g), spelledOut(p)
	if all, forms := c.forms(g), c.forms(p); len(all) > 1 || len(forms) > 1 {
		return slices.ContainsFunc(all, func(g latex.Answer) bool {
			return slices.ContainsFunc(forms, func(p latex.Answer) bool { return c.equal(g, p) })
		})
	}
	if says(g) || says(p) {
		return c.equalStated(g, p)
	}
	if g.Kind == latex.Relation || p.Kind == latex.Relation {
		return c.equalRelations(g, p)
	}
	switch { // {5} and 5
	case g.Kind == latex.Set && len(g.Items) == 1 && p.Kind == latex.Value:
		return c.equal(g.Items[0], p)
	case p.Kind == latex.Set && len(p.Items) == 1 && g.Kind == latex.Value:
		return c.equal(g, p.Items[0])
	}
	if collection(g) && collection(p) && tuples(g) != tuples(p) {
		g, p = points(g), points(p)
	}
	switch {
	case g.Kind == latex.Value && p.Kind == latex.Value:
		return c.equalValues(g, p)
	case g.Kind == latex.Words && p.Kind == latex.Words:
		return phrase(g.Text) == phrase(p.Text)
	case g.Kind == latex.Ratio || p.Kind == latex.Ratio:
		return c.equalRatios(g, p)
	case g.Kind == latex.Matrix && p.Kind == latex.Matrix:
		const special = "|{" // of determinants, and of functions that are given by cases
		return g.Columns == p.Columns && strings.IndexByte(special, g.Open) == strings.IndexByte(special, p.Open) && c.inOrder(g.Items, p.Items)
	case g.Kind == latex.Matrix || p.Kind == latex.Matrix:
		return c.equalVectors(g, p)
	case g.Kind == latex.Tuple && p.Kind == latex.Tuple:
		same := g.Open == p.Open && g.Close == p.Close
		return (same || len(g.Items) != 2) && c.inOrder(g.Items, p.Items)
	case g.Kind == latex.Tuple && p.Kind == latex.List, g.Kind == latex.List && p.Kind == latex.Tuple:
		g, p = byName(g), byName(p)
		return round(g) && round(p) && coordinates(g) && coordinates(p) && c.inOrder(g.Items, p.Items) || c.equalSets(g, p)
	case g.Kind == latex.Value && p.Kind == latex.List: // 1/2 or 0.5
		if mixed, ok := mixed(p); ok && c.equal(g, mixed) {
			return true
		}
		return !slices.ContainsFunc(p.Items, func(item latex.Answer) bool { return !c.equal(g, item) })
	case g.Op != p.Op && oppositeOps[g.Op] == p.Op && g.Kind == latex.List && p.Kind == latex.List:
		return strings.Contains("±∓", g.Op) && c.inOrder(g.Items, p.Items)
	case collection(g) && collection(p):
		return c.equalCollections(g, p) || (bounds(g) || bounds(p)) && c.equalSets(g, p)
	}
	return c.equalSets(g, p)
}

// says reports whether an answer states the domain of its variables, or a modulus.
func says(a latex.Answer) bool {
	return a.Modulus != nil || a.Kind == latex.Builder || a.Kind == latex.List && slices.ContainsFunc(a.Items, func(item latex.Answer) bool {
		return item.Modulus != nil || item.Kind == latex.Relation && item.Rels[0] == "∈"
	})
}

// round reports whether a list has parentheses, no brackets, or too many items for an
// interval.
func round(a latex.Answer) bool {
	return a.Kind == latex.List || a.Open == '(' && a.Close == ')' || len(a.Items) > 2
}

func collection(a latex.Answer) bool { return a.Kind == latex.List || a.Kind == latex.Set }

func (c *comparer) inOrder(g, p []latex.Answer) bool { return slices.EqualFunc(g, p, c.equal) }

// maxItems bounds lists that are compared in any order.
const maxItems = 60

// equalCollections compares in any order: sets without regard to repetitions.
func (c *comparer) equalCollections(g, p latex.Answer) bool {
	if len(g.Items) > maxItems || len(p.Items) > maxItems {
		return c.inOrder(g.Items, p.Items)
	}
	if assigned(g.Items) != assigned(p.Items) { // x=2, y=5 and 2, 5
		return c.inOrder(g.Items, p.Items)
	}
	repeats := g.Kind == latex.Set || p.Kind == latex.Set || len(p.Items) > len(g.Items) && c.distinct(g.Items)
	return (repeats || len(g.Items) == len(p.Items)) && c.matched(g.Items, p.Items, c.equal, repeats)
}

// distinct reports whether no item equals another.
func (c *comparer) distinct(items []latex.Answer) bool {
	for i := range items {
		if slices.ContainsFunc(items[:i], func(other latex.Answer) bool { return c.equal(other, items[i]) }) {
			return false
		}
	}
	return true
}

// oppositeOps are words and signs between the items of lists that make one of them
// mean something else than the other.
var oppositeOps = map[string]string{"∧": "∨", "∨": "∧", "±": "∓", "∓": "±"}

// mixed is a whole number and a proper fraction that "and" makes one number of:
// 2 and 3/4.
func mixed(a latex.Answer) (latex.Answer, bool) {
	if a.Op != "∧" || len(a.Items) != 2 {
		return a, false
	}
	whole, ok := rational(a.Items[0])
	part, okay := rational(a.Items[1])
	if !ok || !okay || !whole.IsInt() || a.Items[1].Expr.Op != algebra.Div || part.Sign() <= 0 || part.Cmp(big.NewRat(1, 1)) >= 0 {
		return a, false
	}
	fraction := a.Items[1].Expr
	if a.Items[0].Expr.Op == algebra.Neg {
		fraction = algebra.Make(algebra.Neg, fraction)
	}
	sum := a.Items[1]
	sum.Expr = algebra.Make(algebra.Add, a.Items[0].Expr, fraction)
	return sum, true
}

// tuples reports whether the items of a list are tuples, by the first one.
func tuples(a latex.Answer) bool { return len(a.Items) > 0 && a.Items[0].Kind == latex.Tuple }

// points makes tuples of a list that gives values to the same variables again and
// again: p=5, q=2; p=7, q=2.
func points(a latex.Answer) latex.Answer {
	names, values := definitions(a.Items)
	n := 0
	for n < len(names) && !slices.Contains(names[:n], names[n]) {
		n++
	}
	if n < 2 || n == len(names) || len(names)%n != 0 || len(names) > maxItems {
		return a
	}
	all := latex.Answer{Kind: latex.List}
	for i := 0; i < len(names); i += n {
		if !slices.Equal(names[i:i+n], names[:n]) {
			return a
		}
		all.Items = append(all.Items, latex.Answer{Kind: latex.Tuple, Open: '(', Close: ')', Items: values[i : i+n]})
	}
	return all
}

// byName sorts a list that gives values to several variables by their names:
// y = 2; x = 1 is the point (1, 2).
func byName(a latex.Answer) latex.Answer {
	if a.Kind == latex.List && assigned(a.Items) {
		a.Items = slices.Clone(a.Items)
		slices.SortStableFunc(a.Items, func(x, y latex.Answer) int {
			names, _ := definitions([]latex.Answer{x, y})
			return strings.Compare(names[0], names[1])
		})
	}
	return a
}

// matched pairs items off with one another. With repeats, an item may be the
// partner of several.
func (c *comparer) matched(g, p []latex.Answer, same func(g, p latex.Answer) bool, repeats bool) bool {
	met := make([]bool, len(p))
	for i := range g {
		found := false
		for j := range p {
			// Most lists are in the same order: look there first.
			k := (i + j) % len(p)
			if (repeats || !met[k]) && same(g[i], p[k]) {
				met[k], found = true, true
				if !repeats {
					break
				}
			}
		}
		if !found {
			return false
		}
	}
	return !slices.Contains(met, false)
}

// assigned reports whether the items give values to several variables. Variables with the
// same name and an index are one: x_1 = 2, x_2 = 5.
func assigned(items []latex.Answer) bool {
	names, _ := definitions(items)
	base := func(name string) string { base, _, _ := strings.Cut(name, "_"); return base }
	return slices.ContainsFunc(names, func(name string) bool { return base(name) != base(names[0]) })
}

// coordinates reports whether a list may be a point: none of its values has a name, or each
// has one of its own.
func coordinates(a latex.Answer) bool {
	named := slices.ContainsFunc(a.Items, func(item latex.Answer) bool { return item.Kind == latex.Relation })
	return !named || assigned(a.Items)
}

// equalVectors compares a matrix with a tuple of its rows, and one of a single
// row or column with a tuple.
func (c *comparer) equalVectors(g, p latex.Answer) bool {
	m, t := g, p
	if m.Kind != latex.Matrix {
		m, t = p, g
	}
	if m.Open == '{' {
		return false
	}
	if len(t.Items) > 0 && t.Items[0].Kind == latex.Tuple && t.Kind == latex.Tuple {
		var items []latex.Answer
		for _, row := range t.Items {
			if row.Kind != latex.Tuple || len(row.Items) != m.Columns {
				return false
			}
			items = append(items, row.Items...)
		}
		return m.Open != '|' && c.inOrder(m.Items, items)
	}
	vector := m.Columns == 1 || m.Columns == len(m.Items)
	return vector && m.Open != '|' && t.Kind == latex.Tuple && round(t) && c.inOrder(g.Items, p.Items)
}

// equalRatios compares ratios up to a factor; and times of day, whose last part
// has two digits, literally. A ratio of two may be a fraction.
func (c *comparer) equalRatios(g, p latex.Answer) bool {
	if g.Kind != latex.Ratio || p.Kind != latex.Ratio {
		r, v := g, p
		if r.Kind != latex.Ratio {
			r, v = p, g
		}
		return v.Kind == latex.Value && len(r.Items) == 2 && !r.Clock && c.same(quotient(r, 0, 1), v.Expr)
	}
	if len(g.Items) != len(p.Items) || !sameUnit(g.Unit, p.Unit) {
		return false
	}
	if g.Clock { // else gold is no time of day
		return c.inOrder(g.Items, p.Items)
	}
	for i := 1; i < len(g.Items); i++ {
		if !c.same(quotient(g, i-1, i), quotient(p, i-1, i)) {
			return false
		}
	}
	return true
}

func quotient(r latex.Answer, i, j int) *algebra.Expr {
	return algebra.Make(algebra.Div, r.Items[i].Expr, r.Items[j].Expr)
}
