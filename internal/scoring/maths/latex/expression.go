package latex

import (
	"slices"
	"strings"

	"speceval/internal/scoring/maths/algebra"
)

// each applies f to a value, or to the elements of a matrix or a tuple.
func (p *parser) each(a Answer, f func(*algebra.Expr) *algebra.Expr) Answer {
	switch a.Kind {
	case Value:
		return value(f(p.expr(a)))
	case Matrix, Tuple:
		items := make([]Answer, len(a.Items))
		for i, item := range a.Items {
			items[i] = value(f(p.expr(item)))
		}
		a.Items = items
		return a
	}
	return p.fail()
}

// negative is an answer with a minus sign before it.
func (p *parser) negative(a Answer) Answer {
	return p.each(a, func(e *algebra.Expr) *algebra.Expr { return algebra.Make(algebra.Neg, e) })
}

// more is a sum or a product with an operand more.
func (p *parser) more(op algebra.Op, a, b Answer) Answer {
	operands := []*algebra.Expr{p.expr(a)}
	if a.Expr.Op == op {
		operands = slices.Clone(a.Expr.Args)
	}
	return value(algebra.Make(op, append(operands, p.expr(b))...))
}

// sum reads terms with signs between them.
func (p *parser) sum() Answer {
	if !p.enter() {
		return p.fail()
	}
	defer func() { p.depth-- }()
	total := p.term()
	for p.align(); p.sign() != ""; p.align() {
		total = p.plus(total, p.term())
	}
	return total
}

// sign is the next token, if it is a sign before a term.
func (p *parser) sign() string {
	if sign := p.peek(); sign == "+" || sign == "-" || sign == "±" || sign == "∓" {
		return sign
	}
	return ""
}

// term reads a product with its signs.
func (p *parser) term() Answer {
	sign := p.sign()
	if sign == "" {
		return p.product()
	}
	if !p.enter() {
		return p.fail()
	}
	defer func() { p.depth-- }()
	p.pos++
	switch a := p.term(); sign {
	case "+":
		return a
	case "-":
		return p.negative(a)
	default:
		return value(algebra.Apply(sign, p.expr(a)))
	}
}

// plus adds values, or matrices and tuples by their elements.
func (p *parser) plus(a, b Answer) Answer {
	if a.Kind == Value {
		return p.more(algebra.Add, a, b)
	}
	if a.Kind != b.Kind || a.Kind != Matrix && a.Kind != Tuple || a.Columns != b.Columns || len(a.Items) != len(b.Items) {
		return p.fail()
	}
	items := make([]Answer, len(a.Items))
	for i := range items {
		items[i] = value(algebra.Make(algebra.Add, p.expr(a.Items[i]), p.expr(b.Items[i])))
	}
	a.Items = items
	return a
}

// product reads factors with or without signs between them.
func (p *parser) product() Answer {
	if mixed, ok := p.mixed(); ok {
		return p.factors(mixed)
	}
	return p.factors(p.power())
}

func (p *parser) factors(a Answer) Answer {
	for !p.failed {
		switch op := p.peek(); {
		case op == "*":
			p.pos++
			a = p.times(a, p.signed())
		case op == "×":
			p.pos++
			a = p.cross(a, p.signed())
		case op == "/":
			p.pos++
			divisor := p.expr(p.signed())
			a = p.each(a, func(e *algebra.Expr) *algebra.Expr { return algebra.Make(algebra.Div, e, divisor) })
		case p.juxtaposed():
			if p.next(number) && p.endsInNumber() && !endsInPower(a) {
				return p.fail() // 3 5
			}
			a = p.times(a, p.power())
		default:
			return a
		}
	}
	return a
}

// endsInPower reports whether the last factor is a power: 2^3 in 2^3 3^2.
func endsInPower(a Answer) bool {
	e := a.Expr
	if a.Kind == Value && e.Op == algebra.Mul {
		e = e.Args[len(e.Args)-1]
	}
	return a.Kind == Value && e.Op == algebra.Pow
}

// signed reads a factor that may have a sign, as after a · sign.
func (p *parser) signed() Answer {
	if p.accept("-") {
		return p.negative(p.power())
	}
	p.accept("+")
	return p.power()
}

func (p *parser) endsInNumber() bool { return p.ahead(-1).kind == number }

// juxtaposed reports whether a factor follows without a sign.
func (p *parser) juxtaposed() bool {
	switch t := p.ahead(0); t.kind {
	case number, symbol, function:
		return true
	case operator:
		switch t.text {
		case `\frac`:
			return !p.fractionOfWords()
		case "(":
			return !p.modular() && p.remarked() == 0
		case "{", "[", `\binom`, "|(", "‖(", "⌊", "⌈", `\bar`, `\vec`, `\hat`, `\dot`, `\angle`, `\triangle`, `\mathbb`, `\sum`, `\prod`:
			return true
		case "|":
			return p.bars == 0
		}
		return strings.HasPrefix(t.text, `\begin`)
	}
	return false
}

// times multiplies values, or a matrix or tuple with a value.
func (p *parser) times(a, b Answer) Answer {
	if a.Kind == Value && b.Kind == Value {
		return p.more(algebra.Mul, a, b)
	}
	if a.Kind == Value {
		a, b = b, a
	}
	factor := p.expr(b)
	return p.each(a, func(e *algebra.Expr) *algebra.Expr { return algebra.Make(algebra.Mul, factor, e) })
}

// mixed reads a whole number with a proper fraction behind it, 3\frac{2}{5} or
// 3 2/5, which is their sum. Each may be in braces.
func (p *parser) mixed() (Answer, bool) {
	start, tokens := p.pos, p.tokens
	if p.mixes++; p.mixes > mostMixes {
		return Answer{}, false
	}
	braces := p.accept("{")
	whole := p.ahead(0).text
	if !p.next(number) || strings.ContainsAny(whole, ".(e") {
		p.pos = start
		return Answer{}, false
	}
	p.pos++
	closed := !braces || p.accept("}")
	var num, den *algebra.Expr
	inner := p.sees("{", `\frac`) && p.accept("{")
	switch {
	case p.peek() == `\frac`:
		p.pos++
		num, den = p.digitArgument(), p.digitArgument()
		closed = closed && (!inner || p.accept("}"))
	case p.next(number) && p.ahead(0).space && p.ahead(1).text == "/" && p.ahead(2).kind == number:
		num, _ = numeral(p.ahead(0).text)
		den, _ = numeral(p.ahead(2).text)
		p.pos += 3
	}
	if !closed || p.failed || num == nil || den == nil || num.Op != algebra.Number || den.Op != algebra.Number ||
		!num.Num.IsInt() || !den.Num.IsInt() || num.Num.Cmp(den.Num) >= 0 || p.peek() == "^" {
		p.pos, p.tokens, p.failed = start, tokens, false
		return Answer{}, false
	}
	n, _ := numeral(whole)
	return value(algebra.Make(algebra.Add, n, algebra.Make(algebra.Div, num, den))), true
}

// mostMixes bounds the places where a mixed number is looked for: what is none is read again, and
// within one another twice as often at each level.
const mostMixes = 1 << 14

// power reads a factor with what is above or behind it.
func (p *parser) power() Answer {
	if !p.enter() {
		return p.fail()
	}
	defer func() { p.depth-- }()
	a := p.primary()
	for !p.failed {
		switch p.peek() {
		case "^":
			p.pos++
			switch {
			case p.ordinal():
			case p.degrees():
				a = p.inDegrees(a)
			default:
				a = value(algebra.Make(algebra.Pow, p.expr(a), p.expr(p.group())))
				if p.peek() == "^" {
					return p.fail()
				}
			}
		case "°":
			p.pos++
			a = p.inDegrees(a)
		case "!":
			if p.pos++; p.peek() == "!" { // 7!! is no factorial of 7!
				return p.fail()
			}
			a = value(algebra.Apply("factorial", p.expr(a)))
		default:
			return a
		}
	}
	return a
}

// group reads what a superscript, a root or a fraction applies to: a group in
// braces, or the next number, variable or function.
func (p *parser) group() Answer {
	if p.peek() == "-" || p.peek() == "+" {
		return p.signed()
	}
	if p.next(symbol) { // e^x y is e^x times y
		p.pos++
		return value(variable(p.ahead(-1).text))
	}
	return p.primary()
}

// digitArgument reads an argument of \frac: a group, a variable, or one digit.
func (p *parser) digitArgument() *algebra.Expr {
	if p.next(number) {
		t := p.ahead(0)
		if plain := strings.Trim(t.text, "0123456789") == ""; plain && len(t.text) > 1 && !(t.space && p.endsInNumber()) {
			p.tokens = slices.Clone(p.tokens) // who goes back finds them whole
			p.tokens[p.pos] = token{kind: number, text: t.text[1:]}
			e, _ := numeral(t.text[:1])
			return e
		}
	}
	return p.expr(p.group())
}
