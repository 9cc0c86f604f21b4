package latex

import (
	"slices"
	"strings"

	"speceval/internal/scoring/maths/algebra"
	"speceval/internal/scoring/words"
)

// sets gives the sets of numbers and their parts one name each, for what stands behind
// \mathbb, with a sign above or below.
var sets = words.ByWord(map[string]string{
	"Z+": "Z+ Z>0 Z≥1 N+ N* N>0 N≥1", "Z0": "Z≥0 Z0 Z0+ N0 N≥0", "Z*": "Z* Z≠0", "Z-": "Z- Z<0", "R+": "R+ R>0", "R0": "R≥0", "R*": "R* R≠0", "R-": "R- R<0",
	"Q+": "Q+ Q>0",
})

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

// kinds are words for sets of numbers, in the singular, with the word before that narrows them.
var kinds = map[string]string{
	"integer": "Z", "natural": "N", "real": "R", "rational": "Q", "complex": "C", "positive integer": "Z+", "nonnegative integer": "Z0", "negative integer": "Z-",
	"nonzero integer": "Z*", "positive real": "R+",
}

// Words around a statement of the kind of number that a variable stands for.
const (
	leads       = " where for with when if "
	quantifiers = " any all some every each an a arbitrary the "
	verbs       = " is are be being "
)

// stated writes statements in words, "where k is an integer", with the sign ∈, and
// takes them out of parentheses at the end.
func stated(tokens []token) []token {
	if !slices.ContainsFunc(tokens, func(t token) bool {
		return t.text == "∈" || t.kind == word && kinds[strings.TrimSuffix(t.text, "s")] != ""
	}) {
		return tokens
	}
	var all []token
	for i := 0; i < len(tokens); {
		if n, statement := statement(tokens[i:], len(all) > 0); n > 0 {
			all, i = append(all, statement...), i+n
			continue
		}
		all = append(all, tokens[i])
		i++
	}
	return all
}

var comma = token{kind: operator, text: ","}

// statement reads a statement at the beginning of tokens: how many of them it is, and
// what it is with ∈.
func statement(tokens []token, inside bool) (n int, stated []token) {
	if inside && tokens[0].text == "(" && len(tokens) > 3 && tokens[1].kind == symbol && tokens[len(tokens)-1].text == ")" {
		rest := tokens[1 : len(tokens)-1]
		if j, more := statement(rest, true); j == len(rest) {
			return len(tokens), more
		}
		if in := slices.IndexFunc(rest, func(t token) bool { return t.text == "∈" }); in > 0 && variables(rest[:in]) {
			return len(tokens), append([]token{comma}, rest...)
		}
	}
	p := parser{tokens: tokens}
	p.skip(leads)
	led := p.pos > 0
	p.skip(quantifiers)
	kind := p.kindOfNumbers()
	names := p.pos
	for p.next(symbol) || p.pos > names && (p.sees(",") || p.sees("∧")) {
		p.pos++
	}
	list := tokens[names:p.pos]
	if !variables(list) {
		return 0, nil
	} else if kind == "" && led && p.sees("∈") {
		return names, []token{comma}
	} else if kind == "" {
		p.skip(verbs)
		p.skip(quantifiers)
		if kind = p.kindOfNumbers(); kind == "" {
			return 0, nil
		}
	}
	if inside {
		stated = append(stated, comma)
	}
	stated = append(append(stated, list...), token{kind: operator, text: "∈"}, token{kind: operator, text: `\mathbb`}, token{kind: operator, text: "{"}, token{kind: symbol, text: kind}, token{kind: operator, text: "}"})
	return p.pos, stated
}

// variables reports whether tokens are variables with commas between.
func variables(list []token) bool {
	for i, t := range list {
		if (t.kind == symbol) != (i%2 == 0) || i%2 == 1 && t.text != "," && t.text != "∧" {
			return false
		}
	}
	return len(list)%2 == 1
}

// kindOfNumbers reads words for a set of numbers; "" if there are none.
func (p *parser) kindOfNumbers() string {
	const most = 4 // words
	start, words := p.pos, ""
	for p.pos < start+most && (p.next(word) || p.sees("-")) {
		if p.sees("-") { // non-negative
			words = strings.TrimSuffix(words, " ")
		} else {
			words += p.ahead(0).text + " "
		}
		p.pos++
		if kind := kinds[strings.TrimSuffix(strings.TrimSpace(words), "s")]; kind != "" {
			p.skip(" number numbers ")
			return kind
		}
	}
	p.pos = start
	return ""
}

// builder reads a set that is given by a condition, {x ∈ ℝ : x > 2} or {2k+1 | k ∈ ℤ},
// behind its brace. Its items are the element and the conditions.
func (p *parser) builder() (Answer, bool) {
	colon, bar, bars, depth := -1, -1, 0, 0
	for i := p.pos; i < len(p.tokens) && depth >= 0; i++ {
		switch text := p.tokens[i].text; {
		case slices.Contains(openers, text):
			depth++
		case slices.Contains(closers, text):
			depth--
		case depth > 0:
		case text == ":" && colon < 0:
			colon = i
		case text == "|":
			if bars++; bar < 0 || bars%2 == 1 && i == bar+1 {
				bar = i
			}
		}
	}
	if colon < 0 && bars%2 == 1 && bar != p.pos {
		colon = bar
	}
	if colon < 0 {
		return Answer{}, false
	}
	before := *p
	p.tokens = before.tokens[:colon]
	set := Answer{Kind: Builder, Items: []Answer{p.inner()}}
	whole := !p.failed && p.pos == colon
	p.tokens = before.tokens
	if whole {
		p.pos = colon + 1
		conditions := p.inner()
		p.expect(`\}`)
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

// openers and closers are brackets; what is between them is one thing.
var (
	openers = []string{"(", "[", "{", `\{`, "|(", "⌊", "⌈"}
	closers = []string{")", "]", "}", `\}`, "|)", "⌋", "⌉"}
)

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
	return p.sees("(", "mod")
}
