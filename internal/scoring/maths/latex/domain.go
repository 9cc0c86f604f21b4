package latex

import (
	"slices"
	"strings"

	"speceval/internal/scoring/maths/algebra"
)

// sets gives the sets of numbers and their parts one name each: what stands behind
// \mathbb, with a sign above or below.
var sets = map[string]string{
	"Z+": "Z+", "Z>0": "Z+", "Z≥1": "Z+", "Z≥0": "Z0", "Z0": "Z0", "Z0+": "Z0", "Z*": "Z*", "Z≠0": "Z*", "Z-": "Z-", "Z<0": "Z-",
	"N+": "Z+", "N*": "Z+", "N>0": "Z+", "N≥1": "Z+", "N0": "Z0", "N≥0": "Z0",
	"R+": "R+", "R>0": "R+", "R≥0": "R0", "R*": "R*", "R≠0": "R*", "R-": "R-", "R<0": "R-", "Q+": "Q+", "Q>0": "Q+",
}

// numbers reads the name of a set of numbers behind \mathbb, with its sign.
func (p *parser) numbers() Answer {
	name := p.raw()
	start := p.pos
	if p.accept("^") || p.accept("_") {
		if full, ok := sets[name+p.raw()]; ok {
			name = full
		} else {
			p.pos, p.failed = start, false
		}
	}
	return value(algebra.Var(`\mathbb ` + name))
}

// stated writes what is said of a variable, "where k ∈ ℤ", "(k ∈ ℤ)", "k is an integer" or "any
// integer k", with the sign ∈ and a comma before it.
func stated(tokens []token) []token {
	at := slices.IndexFunc(tokens, func(t token) bool {
		return t.text == "∈" || t.kind == word && (t.text == "integer" || t.text == "integers")
	})
	if at < 0 || tokens[at].kind != word && (at == 0 || at == len(tokens)-1) {
		return tokens
	}
	back := func(i int, words string) int { // over some words before i
		for i > 0 && tokens[i-1].kind == word && strings.Contains(words, " "+tokens[i-1].text+" ") {
			i--
		}
		return i
	}
	const leads, verbs = " where for with when if any all some every each an ", " is are be an any "
	variable := back(at, verbs) - 1
	rest, said := tokens[at:], []token{{kind: operator, text: "∈"}, {kind: operator, text: `\mathbb`}, {kind: operator, text: "{"}, {kind: symbol, text: "Z"}, {kind: operator, text: "}"}}
	if tokens[at].kind != word {
		said = nil
	} else if rest = tokens[at+1:]; (variable < 0 || tokens[variable].kind != symbol) && len(rest) > 0 && rest[0].kind == symbol { // any integer k
		from := back(at, leads)
		said = append([]token{rest[0]}, said...)
		if rest = rest[1:]; len(rest) > 0 { // integers x > 2
			rest = append([]token{{kind: operator, text: ","}, said[0]}, rest...)
		}
		return append(separated(tokens[:from]), append(said, rest...)...)
	}
	if variable < 0 || tokens[variable].kind != symbol {
		return tokens
	}
	from := back(variable, leads)
	if last := len(tokens) - 1; from == variable && from > 0 && tokens[from-1].text == "(" && tokens[last].text == ")" {
		from, rest = from-1, rest[:len(rest)-1]
	} else if from == variable && tokens[at].kind != word {
		return tokens
	}
	return append(append(separated(tokens[:from]), tokens[variable]), append(said, rest...)...)
}

// separated is tokens with a comma behind them, if there are any.
func separated(tokens []token) []token {
	tokens = slices.Clone(tokens)
	if n := len(tokens); n > 0 && tokens[n-1].text != "," {
		tokens = append(tokens, token{kind: operator, text: ","})
	}
	return tokens
}

// builder reads a set that is given by a condition, {x ∈ ℝ : x > 2} or {2k+1 | k ∈ ℤ},
// behind its brace. Its items are the element and the conditions.
func (p *parser) builder() (Answer, bool) {
	colon, bar, bars, depth := -1, -1, 0, 0
scan:
	for i := p.pos; i < len(p.tokens); i++ {
		switch t := p.tokens[i]; t.text {
		case "(", "[", "{", `\{`, "|(", "⌊", "⌈":
			depth++
		case ")", "]", "}", "|)", "⌋", "⌉":
			depth--
		case `\}`:
			if depth--; depth < 0 {
				break scan
			}
		case ":":
			if depth == 0 && colon < 0 {
				colon = i
			}
		case "|":
			if depth == 0 {
				if bars++; bar < 0 || bars%2 == 1 && i == bar+1 {
					bar = i
				}
			}
		}
	}
	if at := colon; at < 0 && bars%2 == 0 || at < 0 && bar == p.pos {
		return Answer{}, false
	} else if at < 0 {
		colon = bar
	}
	before := *p
	tokens := p.tokens
	p.tokens = tokens[:colon]
	head := p.inner()
	whole := !p.failed && p.pos == colon
	p.tokens = tokens
	if whole {
		p.pos = colon + 1
		conditions := p.inner()
		p.expect(`\}`)
		set := Answer{Kind: Builder, Items: []Answer{head}}
		if conditions.Kind == List && conditions.Op != "∨" {
			set.Items = append(set.Items, conditions.Items...)
		} else {
			set.Items = append(set.Items, conditions)
		}
		if !p.failed && slices.ContainsFunc(set.Items, related) {
			return set, true
		}
	}
	*p = before
	return Answer{}, false
}

// related reports whether an answer is a condition.
func related(a Answer) bool {
	return a.Kind == Relation || a.Modulus != nil || slices.ContainsFunc(a.Items, related)
}

// modulus reads what a congruence is modulo, behind a value: (mod 7), \pmod{7}.
func (p *parser) modulus(a *Answer) {
	brackets := p.modular() && p.accept("(")
	if !p.accept("mod") {
		return
	}
	a.Modulus = p.expr(p.factors(p.power()))
	if brackets {
		p.expect(")")
	}
}

// modular reports whether a modulus in parentheses comes next.
func (p *parser) modular() bool {
	return p.peek() == "(" && p.pos+1 < len(p.tokens) && p.tokens[p.pos+1].text == "mod"
}
