package latex

import (
	"strconv"
	"strings"

	"speceval/internal/scoring/maths/algebra"
	"speceval/internal/scoring/words"
)

// primary reads what has no operator in it, except in brackets.
func (p *parser) primary() Answer {
	t := p.ahead(0)
	if t.kind == nothing || p.failed {
		return p.fail()
	}
	p.pos++
	switch t.kind {
	case number:
		return p.numeral(t)
	case symbol:
		return p.symbol(t.text)
	case function:
		return p.function(t.text)
	case word:
		return p.fail()
	}
	switch t.text {
	case "{":
		return p.braces()
	case `\{`:
		return p.set()
	case "(", "[":
		return p.brackets(t.text[0])
	case "|", "|(", "‖", "‖(", "⌊", "⌈":
		return p.sized(t.text)
	case `\frac`:
		return value(algebra.Make(algebra.Div, p.digitArgument(), p.digitArgument()))
	case `\binom`:
		return value(algebra.Apply("binom", p.digitArgument(), p.digitArgument()))
	case `\bar`, `\vec`, `\hat`, `\dot`, `\angle`, `\triangle`:
		return value(algebra.Var(t.text + " " + p.raw()))
	case `\mathbb`:
		return p.numbers()
	case `\sum`, `\prod`:
		return p.several(t.text)
	case "∅":
		return Answer{Kind: Set}
	case "$", "£", "€", "₹", "¥", "₩":
		p.unit = t.text
		return p.primary()
	}
	if name, ok := strings.CutPrefix(t.text, `\begin`); ok {
		return p.environment(name)
	}
	return p.fail()
}

func (p *parser) numeral(t token) Answer {
	if p.peek() == "_" { // in the base of its subscript
		p.pos++
		base := p.raw()
		if n, ok := words.Number(base); ok {
			base = strconv.FormatInt(n, 10)
		}
		if base != "10" {
			return value(algebra.Var(strings.TrimLeft(t.text, "0") + "_" + base))
		}
	}
	e, ok := numeral(t.text)
	if !ok {
		return p.fail()
	}
	return value(e)
}

// symbol reads a variable with its subscript and primes, or a constant.
func (p *parser) symbol(name string) Answer {
	for !p.failed {
		switch {
		case p.accept("_"):
			name += "_" + p.raw()
		case p.accept("'"):
			name += "'"
		case p.applied(name):
			arguments, _ := p.enclosed(0)
			p.pos += len(arguments) + 2
			return value(algebra.Var(name + "(" + join(arguments) + ")"))
		default:
			return value(variable(name))
		}
	}
	return p.fail()
}

// values are constants by the letters that are read for them.
var values = map[string]algebra.Op{"π": algebra.Pi, "e": algebra.Euler, "i": algebra.Imaginary, "∞": algebra.Infinity}

func variable(name string) *algebra.Expr {
	if constant, ok := values[name]; ok {
		return algebra.Make(constant)
	}
	return algebra.Var(name)
}

// applied reports whether a variable is the name of a function with its arguments behind it:
// f(x), or P(x) before an equals sign.
func (p *parser) applied(name string) bool {
	arguments, ok := p.enclosed(0)
	base, _, _ := strings.Cut(strings.TrimRight(name, "'"), "_")
	return ok && (base == "f" || base == "g" || p.pos == 1 && p.ahead(len(arguments)+2).text == "=")
}

// raw skips a group in braces or one token, and is its text.
func (p *parser) raw() string {
	if p.pos >= len(p.tokens) {
		p.fail()
		return ""
	}
	start := p.pos
	if !p.accept("{") {
		letters := p.next(symbol) && p.ahead(-1).text != "_" // \angle ABC
		for p.pos++; letters && p.next(symbol); p.pos++ {
		}
		return join(p.tokens[start:p.pos])
	}
	for depth := 1; p.pos < len(p.tokens); {
		switch p.ahead(0).text {
		case "{":
			depth++
		case "}":
			depth--
		}
		if p.pos++; depth == 0 {
			return join(p.tokens[start+1 : p.pos-1])
		}
	}
	p.fail()
	return ""
}

func join(tokens []token) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString(t.text)
	}
	return b.String()
}
