package maths

import (
	"maps"
	"math/big"
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

// state takes what is said of variables off a list, a set given by its elements or a
// congruence.
func state(a latex.Answer) (s assertion, ok bool) {
	s = assertion{core: a, domains: map[string]string{}}
	items := a.Items
	switch a.Kind {
	case latex.Builder:
		items = a.Items[1:]
		if nameOf(a.Items[0]) != "" || a.Items[0].Kind == latex.Relation {
			return s, false
		}
	case latex.List:
	default:
		return s, a.Modulus != nil
	}
	var kept []latex.Answer
	for _, item := range items {
		if item.Kind != latex.Relation || !slices.Equal(item.Rels, []string{"∈"}) {
			kept = append(kept, item)
			continue
		}
		set, isSet := setOfNumbers(item.Items[1])
		name := nameOf(item.Items[0])
		if !isSet || name == "" || set.domain == 0 {
			kept = append(kept, item)
			continue
		}
		domain := strings.TrimPrefix(item.Items[1].Expr.Name, `\mathbb `)
		s.domains[name] = domain
		for n := len(kept); n > 0 && a.Kind == latex.List && kept[n-1].Kind == latex.Value && kept[n-1].Expr.Op == algebra.Symbol; n-- { // m, n ∈ ℤ
			s.domains[kept[n-1].Expr.Name] = domain
			kept = kept[:n-1]
		}
	}
	if a.Kind == latex.Builder {
		if len(kept) > 0 {
			return s, false
		}
		kept = []latex.Answer{a.Items[0]}
	}
	switch s.core.Items = kept; {
	case len(kept) == 1:
		s.core = kept[0]
	case a.Kind == latex.List && len(kept) > 0 && kept[len(kept)-1].Modulus != nil: // n ≡ 1, 4 (mod 5)
		for i := range kept {
			if kept[i].Modulus == nil {
				kept[i].Modulus = kept[len(kept)-1].Modulus
			}
		}
		return s, true
	}
	return s, len(s.domains) > 0
}

// equalStated compares answers if one or both state something of their variables, or are a
// congruence or a set given by conditions. Otherwise decided is false.
func (c *comparer) equalStated(g, p latex.Answer) (equal, decided bool) {
	if c.equalSets(g, p) {
		return true, true
	}
	a, saysA := state(g)
	b, saysB := state(p)
	if !saysA && !saysB {
		built := g.Kind == latex.Builder || p.Kind == latex.Builder
		return built && c.equalBuilt(g, p), built
	}
	if x, ok := familyOf(a); ok {
		if y, ok := familyOf(b); ok && x.equal(y) {
			return true, true
		}
	}
	if congruent(a.core) && congruent(b.core) && a.core.Kind == latex.List && b.core.Kind == latex.List {
		return c.matched(a.core.Items, b.core.Items, c.equal, false), true
	}
	if congruent(a.core) || congruent(b.core) || g.Kind == latex.Builder && !saysB || p.Kind == latex.Builder && !saysA || g.Kind == latex.Builder && p.Kind == latex.Builder && (!saysA || !saysB) {
		return false, true
	}
	if one, other := a.parameter(), b.parameter(); one != "" && other != "" && one != other {
		b = b.renamed(other, one)
	}
	if !c.agree(a, b) || (bounds(a.core) || bounds(b.core)) && !maps.Equal(a.domains, b.domains) {
		return false, true
	}
	if a.empty() || b.empty() {
		return a.empty() && b.empty(), true
	}
	before := c.domains
	defer func() { c.domains = before }()
	c.domains = algebra.Domains{}
	for name, domain := range a.domains {
		c.domains[name] = map[byte]algebra.Domain{'Z': algebra.Integers, 'N': algebra.Naturals}[domain[0]]
	}
	return c.equal(a.core, b.core), true
}

// empty reports whether an answer states nothing but the domain of its variables.
func (s assertion) empty() bool { return s.core.Kind == latex.List && len(s.core.Items) == 0 }

// bounds reports whether an answer is an interval or has an inequality: it is another one
// for integers.
func bounds(a latex.Answer) bool {
	switch a.Kind {
	case latex.Tuple:
		return len(variablesOf(a)) == 0
	case latex.Union, latex.Builder:
		return true
	case latex.Relation:
		return strings.Trim(strings.Join(a.Rels, ""), "=≈") != ""
	}
	return a.Kind == latex.List && slices.ContainsFunc(a.Items, bounds)
}

// equalBuilt compares sets given by conditions, whose variables may have other names.
func (c *comparer) equalBuilt(g, p latex.Answer) bool {
	if g.Kind != latex.Builder || p.Kind != latex.Builder || len(g.Items) != len(p.Items) {
		return false
	}
	names, others := variablesOf(g.Items[0]), variablesOf(p.Items[0])
	if len(names) != len(others) {
		return false
	}
	p = renamed(p, others, names)
	return c.equal(g.Items[0], p.Items[0]) && c.matched(g.Items[1:], p.Items[1:], c.equal, false)
}

// domain is the stated domain of a variable, or the one that its name implies.
func (s assertion) domain(name string) string {
	if d, ok := s.domains[name]; ok {
		return d
	}
	return implied(name)
}

func implied(name string) string {
	if algebra.Implied(name) == algebra.Integers {
		return "Z"
	}
	return "R"
}

// agree reports whether two answers say the same of their variables. Of one that has a
// number as its value, the number must be what is said; what defines the value of f(n)
// or a_n may say nothing of n.
func (c *comparer) agree(a, b assertion) bool {
	for _, pair := range [][2]assertion{{a, b}, {b, a}} {
		s, t := pair[0], pair[1]
		defined, value, defines := definition(s.core)
		for name, domain := range s.domains {
			if other := t.domain(name); other == domain {
				continue
			} else if _, says := t.domains[name]; says {
				return false
			}
			switch {
			case defines && name == defined && value.Kind == latex.Value:
				r, exact := algebra.Exact(value.Expr)
				inside := domain == "R" || exact && (domain == "Q" || r.IsInt() && (domain == "Z" || r.Sign() > 0 && strings.Contains("N Z+", domain) || r.Sign() >= 0 && domain == "Z0"))
				if !inside {
					return false
				}
			case defines && strings.ContainsAny(defined, "_(") && strings.Contains(defined, name) && implied(name) == "Z" && strings.Contains("N Z+ Z0", domain):
			default:
				return false
			}
		}
	}
	return true
}

// parameter is the only variable with a statement, except the defined one; or the only
// variable of all.
func (s assertion) parameter() string {
	defined, _, _ := definition(s.core)
	var names []string
	for name := range s.domains {
		if name != defined {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		names = slices.DeleteFunc(variablesOf(s.core), func(name string) bool { return name == defined })
	}
	if len(names) != 1 {
		return ""
	}
	return names[0]
}

func (s assertion) renamed(from, to string) assertion {
	r := assertion{renamed(s.core, []string{from}, []string{to}), map[string]string{}}
	for name, domain := range s.domains {
		if name == from {
			name = to
		}
		r.domains[name] = domain
	}
	return r
}

// variablesOf are the names of the variables of an answer.
func variablesOf(a latex.Answer) []string {
	var names []string
	if a.Expr != nil {
		names = slices.DeleteFunc(algebra.Variables(a.Expr), func(name string) bool { return strings.HasPrefix(name, `\mathbb`) })
	}
	for _, item := range a.Items {
		for _, name := range variablesOf(item) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// renamed is an answer with other names for its variables, all at once; another variable
// that has one of the new names already takes a name that no variable has.
func renamed(a latex.Answer, from, to []string) latex.Answer {
	if a.Expr != nil {
		a.Expr = renamedExpr(a.Expr, from, to)
	}
	a.Items = slices.Clone(a.Items)
	for i := range a.Items {
		a.Items[i] = renamed(a.Items[i], from, to)
	}
	return a
}

func renamedExpr(e *algebra.Expr, from, to []string) *algebra.Expr {
	return rewritten(e, func(name string) *algebra.Expr {
		if i := slices.Index(from, name); i >= 0 {
			return algebra.Var(to[i])
		} else if slices.Contains(to, name) {
			return algebra.Var(name + " of another")
		}
		return nil
	})
}

// replaced is an expression with another one for a variable.
func replaced(e *algebra.Expr, name string, by *algebra.Expr) *algebra.Expr {
	return rewritten(e, func(other string) *algebra.Expr {
		if other == name {
			return by
		}
		return nil
	})
}

// rewritten is an expression with others for variables, nil for none.
func rewritten(e *algebra.Expr, by func(name string) *algebra.Expr) *algebra.Expr {
	if e.Op == algebra.Symbol {
		if other := by(e.Name); other != nil {
			return other
		}
	}
	if len(e.Args) == 0 {
		return e
	}
	next := *e
	next.Args = make([]*algebra.Expr, len(e.Args))
	for i, arg := range e.Args {
		next.Args[i] = rewritten(arg, by)
	}
	return &next
}

// samePeriods compares solutions of trigonometric equations that do not say that their
// parameter is an integer: π/2 + πn is π/2 + πk.
func samePeriods(g, p latex.Answer) bool {
	hasPi := func(e *algebra.Expr) bool { return e.Op == algebra.Pi }
	if !anyExpr(g, hasPi) || !anyExpr(p, hasPi) {
		return false
	}
	f, ok := familyOf(assertion{core: g})
	if !ok {
		return false
	}
	other, ok := familyOf(assertion{core: p})
	return ok && f.equal(other)
}

// anyExpr reports whether is holds for a node of an expression in a.
func anyExpr(a latex.Answer, is func(*algebra.Expr) bool) bool {
	return a.Expr != nil && a.Expr.Any(is) || slices.ContainsFunc(a.Items, func(item latex.Answer) bool { return anyExpr(item, is) })
}

// family is a union of arithmetic progressions in both directions, a + bℤ: the numbers
// that are congruent, or the solutions of an equation like sin x = 1/2.
type family struct {
	name string
	rows []row
}

type row struct{ offset, step *algebra.Expr }

func congruent(a latex.Answer) bool {
	return a.Modulus != nil || a.Kind == latex.List && slices.ContainsFunc(a.Items, congruent)
}

// familyOf reads a family: of congruences, or of values that are linear in an integer.
func familyOf(s assertion) (f family, ok bool) {
	items := []latex.Answer{s.core}
	if s.core.Kind == latex.List || s.core.Kind == latex.Set {
		items = s.core.Items
	}
	for _, item := range items {
		modulus, name := item.Modulus, ""
		if defined, value, ok := definition(item); ok && modulus == nil {
			name, item = defined, value
		} else if item.Kind == latex.Relation && modulus != nil && len(item.Items) == 2 {
			if name, item = nameOf(item.Items[0]), item.Items[1]; name == "" {
				return f, false
			}
		}
		if len(f.rows) > 0 && name != f.name && name != "" {
			return f, false
		} else if name != "" {
			f.name = name
		}
		if item.Kind != latex.Value {
			return f, false
		}
		r := row{item.Expr, modulus}
		if modulus == nil {
			parameter := ""
			for _, name := range algebra.Variables(item.Expr) {
				if _, says := s.domains[name]; s.domain(name) == "Z" && (says || len(s.domains) == 0) {
					if parameter != "" {
						return f, false
					}
					parameter = name
				}
			}
			c, linear := algebra.Coefficients(item.Expr, parameter, 1)
			if parameter == "" || !linear || len(c) != 2 {
				return f, false
			}
			r = row{c[0], c[1]}
		}
		f.rows = append(f.rows, r)
	}
	return f, len(f.rows) > 0
}

// equal reports whether two families have the same members.
func (f family) equal(g family) bool {
	return (f.name == g.name || f.name == "" || g.name == "") && f.within(g) && g.within(f)
}

// longestPeriod bounds the members of a row that are compared: the pattern in which the rows
// of another family meet them repeats.
const longestPeriod = 210

// within reports whether each member of f is among those of g.
func (f family) within(g family) bool {
	for _, r := range f.rows {
		var places [][2]*big.Rat // member k of r is number place + k·step of a row of g
		for _, s := range g.rows {
			place, ok := algebra.Exact(algebra.Make(algebra.Div, algebra.Make(algebra.Add, r.offset, algebra.Make(algebra.Neg, s.offset)), s.step))
			step, okay := algebra.Exact(algebra.Make(algebra.Div, r.step, s.step))
			if ok && okay {
				places = append(places, [2]*big.Rat{place, step})
			}
		}
		for k := range int64(longestPeriod) {
			if !slices.ContainsFunc(places, func(at [2]*big.Rat) bool {
				member := new(big.Rat).Mul(at[1], big.NewRat(k, 1))
				return member.Add(member, at[0]).IsInt()
			}) {
				return false
			}
		}
	}
	return true
}
