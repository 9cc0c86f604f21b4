package latex

import (
	"slices"
	"strings"

	"speceval/internal/scoring/maths/algebra"
	"speceval/internal/scoring/words"
)

// parser reads tokens by recursive descent. Once it has failed, what it returns
// means nothing.
type parser struct {
	tokens []token
	pos    int
	depth  int
	bars   int    // open |
	cells  int    // open matrices
	mixes  int    // times that a mixed number was looked for
	unit   string // of the value that is being read
	failed bool
}

func (p *parser) fail() Answer {
	p.failed = true
	p.pos = len(p.tokens)
	return value(algebra.Int(0))
}

// ahead is the token n places behind the next one, or before it with a negative n.
func (p *parser) ahead(n int) token { return at(p.tokens, p.pos+n) }

// at is the i-th of some tokens, if there is one.
func at(tokens []token, i int) token {
	if i < 0 || i >= len(tokens) {
		return token{kind: nothing}
	}
	return tokens[i]
}

// peek is the text of the next token, if it is an operator.
func (p *parser) peek() string {
	if p.next(operator) {
		return p.ahead(0).text
	}
	return ""
}

func (p *parser) next(kind tokenKind) bool { return p.ahead(0).kind == kind }

// lastBut reports whether no more than n tokens are left, but for a point.
func (p *parser) lastBut(n int) bool {
	return p.ahead(n).kind == nothing || p.ahead(n).text == "." && p.ahead(n+1).kind == nothing
}

// sees reports whether the next tokens have these texts.
func (p *parser) sees(texts ...string) bool {
	for i, text := range texts {
		if p.ahead(i).text != text {
			return false
		}
	}
	return true
}

func (p *parser) accept(text string) bool {
	if p.peek() == text {
		p.pos++
		return true
	}
	return false
}

func (p *parser) expect(text string) {
	if !p.accept(text) {
		p.fail()
	}
}

// align skips the marks by which equations are aligned.
func (p *parser) align() {
	for p.cells == 0 && p.accept("&") {
	}
}

// skip accepts as many of some words and operators, with spaces around each, as come next.
func (p *parser) skip(texts string) {
	for t := p.ahead(0); t.kind >= word && strings.Contains(texts, " "+t.text+" "); t = p.ahead(0) {
		p.pos++
	}
}

// enter guards against nesting that is too deep. Depth that was too large is not given back: what
// the parser tries instead, from an earlier token, counts from there and ends sooner.
func (p *parser) enter() bool {
	if p.depth++; p.depth > maxDepth {
		p.fail()
	}
	return !p.failed
}

// whole reads all the tokens.
func (p *parser) whole() Answer {
	var a Answer
	if sign := p.peek(); sign != "" && strings.Contains("< > ≤ ≥ ≠", sign) { // of something without a name: > 3
		p.pos++
		a = Answer{Kind: Relation, Items: []Answer{value(algebra.Var(Nameless)), p.union()}, Rels: []string{sign}}
	} else {
		if !p.accept("=") {
			p.accept("≈")
		}
		a = p.list()
	}
	p.skip(` . , ; ∧ \\ `)
	if p.pos < len(p.tokens) {
		return p.fail()
	}
	return a
}

// separator accepts what stands between the items of a list, and is the word that
// does: ∨ for "or", ∧ for "and".
func (p *parser) separator() (found bool, op string) {
	for {
		switch sign := p.peek(); sign {
		case ",", ";", `\\`:
		case "∨", "∧":
			op = sign
		default:
			return found, op
		}
		p.pos++
		found = true
	}
}

// list reads items up to a closing bracket or the end.
func (p *parser) list() Answer {
	if !p.enter() {
		return p.fail()
	}
	defer func() { p.depth-- }()
	p.skip(` \\ `)
	items := []Answer{p.relation()}
	op := ""
	for !p.failed {
		found, word := p.separator()
		if !found {
			break
		}
		if op != "∨" && word != "" {
			op = word
		}
		if p.closes() {
			break
		}
		items = append(items, p.relation())
	}
	if len(items) == 1 {
		return items[0]
	}
	return Answer{Kind: List, Items: items, Op: op}
}

// closes reports whether no item follows.
func (p *parser) closes() bool {
	if p.pos == len(p.tokens) {
		return true
	}
	switch p.peek() {
	case ")", "]", "}", `\}`, ".", "‖)", "|)":
		return true
	}
	return strings.HasPrefix(p.peek(), `\end`)
}

// relations are the signs between the sides of a relation.
const relations = "= < > ≤ ≥ ≠ ≈ ∈ ∉ ≡"

func (p *parser) relation() Answer {
	if p.label() {
		name := value(algebra.Var(p.ahead(0).text))
		p.pos++
		return Answer{Kind: Relation, Items: []Answer{name, p.primary()}, Rels: []string{"="}}
	}
	first := p.union()
	p.modulus(&first) // n mod 7 = 3
	items := []Answer{first}
	var rels []string
	for !p.failed {
		p.continued()
		p.align()
		sign := p.peek()
		if sign == "" || !strings.Contains(relations, sign) {
			break
		}
		p.pos++
		p.align()
		if sign == "=" && len(rels) > 0 && p.closes() { // x = 5 =
			break
		}
		rels = append(rels, sign)
		side := p.union()
		if e := side.Expr; sign == "∈" && side.Kind == Value && e.Op == algebra.Symbol && len(e.Name) == 1 && strings.Contains("ZNQRC", e.Name) {
			side.Expr = algebra.Var(`\mathbb ` + e.Name)
		}
		items = append(items, side)
	}
	if len(rels) == 0 {
		return first
	}
	a := Answer{Kind: Relation, Items: items, Rels: rels}
	if a.Modulus = first.Modulus; a.Modulus == nil {
		p.modulus(&a)
	}
	for i, rel := range rels {
		if rel == "≡" && a.Modulus == nil {
			rels[i] = "="
		}
	}
	return a
}

// label reports whether a point with its name comes next, A(1,2).
func (p *parser) label() bool {
	name := p.ahead(0).text
	if !p.next(symbol) || len(name) != 1 || name[0] < 'A' || 'Z' < name[0] {
		return false
	}
	inside, ok := p.enclosed(1)
	after := p.ahead(len(inside) + 3)
	return ok && slices.ContainsFunc(inside, func(t token) bool { return t.text == "," }) && after.kind >= operator && strings.Contains(", ; ∨ ∧ .", after.text)
}

// enclosed is the text between parentheses n tokens ahead, which hold no others.
func (p *parser) enclosed(n int) (inside []token, ok bool) {
	for i := p.pos + n; i < len(p.tokens); i++ {
		switch text := p.tokens[i].text; {
		case (text == "(") != (i == p.pos+n):
			return nil, false
		case text == ")":
			return p.tokens[p.pos+n+1 : i], true
		}
	}
	return nil, false
}

// continued skips the end of a line if a relation goes on behind it.
func (p *parser) continued() {
	if p.peek() != `\\` || p.cells > 0 {
		return
	}
	i := 1
	for p.ahead(i).text == "&" {
		i++
	}
	if t := p.ahead(i); t.kind == operator && strings.Contains(relations, t.text) {
		p.pos += i
	}
}

// union reads sets joined by ∪, ∩ or ∖.
func (p *parser) union() Answer {
	a := p.ratio()
	op := p.peek()
	if op != "∪" && op != "∩" && op != "∖" {
		return a
	}
	items := []Answer{a}
	for p.accept(op) { // a mixture needs brackets
		items = append(items, p.ratio())
	}
	return Answer{Kind: Union, Op: op, Items: items}
}

func (p *parser) ratio() Answer {
	a := p.measured()
	if !p.colon() {
		return a
	}
	if a.Kind == Words { // Area: 5, Ratio: 3:2, or the names in boys:girls = 3:2
		b := p.ratio()
		related := p.next(operator) && strings.Contains(relations, p.peek())
		if related && b.Kind != Words { // Answer: 2x = 7, but not Wrong: 2x = 7
			if !words.Names(a.Text) && !words.NamesEquation(a.Text) {
				b.Limit = a.Text
			}
			return b
		}
		if related {
			return Answer{Kind: Words, Text: a.Text + ":" + b.Text}
		}
		return Answer{Kind: Relation, Items: []Answer{a, b}, Rels: []string{"="}}
	}
	r := Answer{Kind: Ratio, Items: []Answer{a}}
	for more := true; more && !p.failed; more = p.colon() {
		r.Clock = p.next(number) && len(p.ahead(0).text) == 2
		r.Items = append(r.Items, p.measured())
	}
	for _, item := range r.Items {
		if item.Kind != Value {
			return p.fail()
		}
	}
	last := &r.Items[len(r.Items)-1]
	r.Unit, last.Unit = last.Unit, ""
	return r
}

// colon accepts what separates the parts of a ratio: 3:2, or 3 to 2.
func (p *parser) colon() bool {
	if p.next(word) && p.sees("to") {
		p.pos++
		return true
	}
	return p.accept(":")
}

// expr is the expression of an answer, which must be a value.
func (p *parser) expr(a Answer) *algebra.Expr {
	if a.Kind != Value || a.Percent {
		p.fail()
		return algebra.Int(0)
	}
	return a.Expr
}
