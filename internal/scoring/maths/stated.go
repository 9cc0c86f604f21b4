package maths

import (
	"maps"
	"slices"
	"strings"

	"speceval/internal/scoring/maths/algebra"
	"speceval/internal/scoring/maths/latex"
)

// assertion is an answer and what is said of its variables: k ∈ ℤ.
type assertion struct {
	core    latex.Answer
	domains map[string]string // Z, N, Z+ and so on by the name of the variable
}

// state takes what is said of variables off a list or a set given by its elements.
func state(a latex.Answer) assertion {
	s := assertion{core: a, domains: map[string]string{}}
	items := a.Items
	switch {
	case a.Kind == latex.Builder && nameOf(a.Items[0]) == "" && a.Items[0].Kind != latex.Relation:
		items = a.Items[1:]
	case a.Kind != latex.List:
		return s
	}
	var kept []latex.Answer
	for _, item := range items {
		name, isSet := "", false
		if item.Kind == latex.Relation && slices.Equal(item.Rels, []string{"∈"}) {
			name = nameOf(item.Items[0])
			_, isSet = setOfNumbers(item.Items[1])
		}
		if name == "" || !isSet {
			kept = append(kept, item)
			continue
		}
		s.domains[name] = strings.TrimPrefix(item.Items[1].Expr.Name, `\mathbb `)
		for n := len(kept); n > 0 && a.Kind == latex.List && kept[n-1].Kind == latex.Value && kept[n-1].Expr.Op == algebra.Symbol; n-- { // m, n ∈ ℤ
			s.domains[kept[n-1].Expr.Name] = s.domains[name]
			kept = kept[:n-1]
		}
	}
	if a.Kind == latex.Builder {
		if len(kept) > 0 {
			return assertion{core: a}
		}
		kept = a.Items[:1]
	}
	if s.core.Items = kept; len(kept) == 1 {
		s.core = kept[0]
	}
	return s
}

// equalStated compares answers if one or both state something of their variables, or are a
// congruence or a set given by conditions: as sets of numbers, as progressions, or else with the
// same statements, except the ones that the name of a variable implies.
func (c *comparer) equalStated(g, p latex.Answer) bool {
	if c.equalSets(g, p) || c.samePeriods(g, p, true) {
		return true
	}
	if g.Kind == latex.Builder && p.Kind == latex.Builder { // their variables may have other names
		names, others := variablesOf(g.Items[0]), variablesOf(p.Items[0])
		if len(names) != len(others) {
			return false
		}
		p = renamed(p, others, names)
		return c.equal(g.Items[0], p.Items[0]) && c.matched(g.Items[1:], p.Items[1:], c.equal, false)
	} else if g.Kind == latex.Builder || p.Kind == latex.Builder {
		return false
	}
	a, b := state(g), state(p)
	if names, others := slices.Collect(maps.Keys(a.domains)), slices.Collect(maps.Keys(b.domains)); len(names) == 1 && len(others) == 1 && names[0] != others[0] { // (2k, 3k) and (2n, 3n)
		b = state(renamed(p, others, names))
	}
	if !says(a.core) && !says(b.core) && c.agree(a, b) {
		return len(a.core.Items) == 0 && len(b.core.Items) == 0 && a.core.Kind == latex.List && b.core.Kind == latex.List || c.equal(a.core, b.core)
	}
	return false
}

// agree reports whether two answers say the same of their variables. One may leave out what the
// name of a variable implies, or the place of the defined a_n, where that does not bound the answer.
func (c *comparer) agree(a, b assertion) bool {
	defined, _ := definition(a.core)
	implied := func(name, domain string) bool {
		if algebra.Whole(name) && strings.ContainsAny(defined, "_(") && strings.Contains(defined, name) {
			return strings.Contains("Z N Z+ Z0", domain)
		}
		return domain == "R" && !algebra.Whole(name) || domain == "Z" && algebra.Whole(name)
	}
	if bounds(a.core) || bounds(b.core) {
		return maps.Equal(a.domains, b.domains)
	}
	for _, pair := range [][2]assertion{{a, b}, {b, a}} {
		for name, domain := range pair[0].domains {
			if other, says := pair[1].domains[name]; other != domain && (says || !implied(name, domain)) {
				return false
			}
		}
	}
	return true
}

// bounds reports whether an answer is an interval or has an inequality: it is another one
// for integers.
func bounds(a latex.Answer) bool {
	switch a.Kind {
	case latex.Tuple:
		return len(variablesOf(a)) == 0
	case latex.Union, latex.Builder:
		return true
	case latex.Relation:
		return !equates(a)
	}
	return a.Kind == latex.List && slices.ContainsFunc(a.Items, bounds)
}

// variablesOf are the names of the variables of an answer.
func variablesOf(a latex.Answer) (names []string) {
	a.Any(func(e *algebra.Expr) bool {
		if e.Op == algebra.Symbol && !strings.HasPrefix(e.Name, `\mathbb`) && !slices.Contains(names, e.Name) {
			names = append(names, e.Name)
		}
		return false
	})
	return names
}

// renamed is an answer with other names for its variables, all at once; another variable
// that has one of the new names already takes a name that no variable has.
func renamed(a latex.Answer, from, to []string) latex.Answer {
	return a.Rewrite(func(e *algebra.Expr) *algebra.Expr {
		if i := slices.Index(from, e.Name); e.Op == algebra.Symbol && i >= 0 {
			return algebra.Var(to[i])
		} else if e.Op == algebra.Symbol && slices.Contains(to, e.Name) {
			return algebra.Var(e.Name + "#")
		}
		return nil
	})
}

// progression is an arithmetic progression in both directions, a + bℤ: the numbers that are
// congruent, or some of the solutions of an equation like sin x = 1/2.
type progression struct{ offset, step *algebra.Expr }

// samePeriods compares answers that are progressions one by one: 10 mod 7 is 3 mod 7, and π/4 + kπ
// is 5π/4 + nπ. Where nothing says that a parameter is an integer, its name must, and there must be π.
func (c *comparer) samePeriods(g, p latex.Answer, said bool) bool {
	hasPi := func(e *algebra.Expr) bool { return e.Op == algebra.Pi }
	if !said && !(g.Any(hasPi) && p.Any(hasPi)) {
		return false
	}
	name, gold, ok := progressions(state(g))
	other, rows, okay := progressions(state(p))
	if !ok || !okay || len(gold) != len(rows) || name != other && name != "" && other != "" {
		return false
	}
	integer := func(a, b *algebra.Expr) bool {
		r, ok := algebra.Exact(algebra.Make(algebra.Div, a, b))
		return ok && r.IsInt()
	}
	left := slices.Clone(rows)
	for _, r := range gold {
		i := slices.IndexFunc(left, func(s progression) bool {
			apart := algebra.Make(algebra.Add, r.offset, algebra.Make(algebra.Neg, s.offset))
			return c.spend(numericWork) && integer(r.step, s.step) && integer(s.step, r.step) && integer(apart, r.step)
		})
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
	}
	return true
}

// progressions reads congruences, or values that are linear in an integer, with the name of what
// they are.
func progressions(s assertion) (name string, all []progression, ok bool) {
	items := []latex.Answer{s.core}
	if collection(s.core) {
		items = s.core.Items
	}
	for i, item := range items {
		modulus, own := item.Modulus, ""
		if last := items[len(items)-1]; modulus == nil && len(items) > 1 {
			modulus = last.Modulus // n ≡ 1, 4 (mod 5)
		}
		if defined, value := definition(item); defined != "" && item.Modulus == nil {
			own, item = defined, value
		} else if item.Kind == latex.Relation && modulus != nil && len(item.Items) == 2 {
			own, item = nameOf(item.Items[0]), item.Items[1]
		}
		if i == 0 {
			name = own
		}
		if item.Kind != latex.Value || own != "" && own != name || own == "" && items[i].Kind == latex.Relation {
			return "", nil, false
		}
		r := progression{item.Expr, modulus}
		if modulus == nil {
			parameters := slices.DeleteFunc(algebra.Variables(item.Expr), func(name string) bool {
				domain, says := s.domains[name]
				return says && domain != "Z" || !says && (len(s.domains) > 0 || !algebra.Whole(name))
			})
			if len(parameters) != 1 {
				return "", nil, false
			}
			c, linear := algebra.Coefficients(item.Expr, parameters[0], 1)
			if !linear || len(c) != 2 {
				return "", nil, false
			}
			r = progression{c[0], c[1]}
		}
		all = append(all, r)
	}
	return name, all, len(all) > 0
}
