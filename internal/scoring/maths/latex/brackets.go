package latex

import (
	"speceval/internal/scoring/maths/algebra"
)

// braces reads a group, which is a set if it has several items.
func (p *parser) braces() Answer {
	if p.accept("}") { // {} is nothing: {}^2
		return p.primary()
	}
	if t := p.ahead(0); p.next(number) && p.sees(t.text, "}", "_") { // {220}_3
		p.pos += 2
		return p.numeral(t)
	}
	a := p.inner()
	p.expect("}")
	if a.Kind == List {
		a.Kind = Set
	}
	return a
}

// inner reads a list inside brackets, where | opens anew.
func (p *parser) inner() Answer {
	bars := p.bars
	p.bars = 0
	a := p.list()
	p.bars = bars
	return a
}

func (p *parser) set() Answer {
	if p.accept(`\}`) {
		return Answer{Kind: Set}
	}
	if p.peek() == `\beginarray` { // a system of equations: the brace does not close
		p.pos++
		p.raw()
		a := p.cases(`\endarray`)
		p.accept(`\}`)
		return a
	}
	if a, ok := p.builder(); ok {
		return a
	}
	a := p.inner()
	p.expect(`\}`)
	if a.Kind == List {
		a.Kind = Set
		return a
	}
	return Answer{Kind: Set, Items: []Answer{a}}
}

// brackets reads a tuple or an interval, or what is in parentheses by itself.
func (p *parser) brackets(open byte) Answer {
	a := p.inner()
	end := p.peek()
	if end != ")" && end != "]" {
		return p.fail()
	}
	p.pos++
	if a.Kind == List {
		return Answer{Kind: Tuple, Items: a.Items, Open: open, Close: end[0]}
	}
	if open == '(' && end != ")" || open == '[' && end != "]" {
		return p.fail()
	}
	return a
}

// sizes are the functions that signs around their argument name, with the sign behind it.
var sizes = map[string]struct{ name, end string }{
	"|": {"abs", "|"}, "|(": {"abs", "|)"}, "‖": {"abs", "‖"}, "‖(": {"abs", "‖)"}, "⌊": {"floor", "⌋"}, "⌈": {"ceil", "⌉"},
}

// sized reads an absolute value or a determinant, or a number that is rounded down or up.
func (p *parser) sized(open string) Answer {
	size, bars := sizes[open], p.bars
	if open == "|" {
		p.bars++
	} else if size.name != "abs" {
		p.bars = 0
	}
	a := p.list()
	p.bars = bars
	p.expect(size.end)
	if a.Kind == Matrix && size.name == "abs" {
		a.Open, a.Close = '|', '|'
		return a
	}
	return value(algebra.Apply(size.name, p.expr(a)))
}
