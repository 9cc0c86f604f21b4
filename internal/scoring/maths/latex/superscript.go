package latex

import (
	"strings"

	"speceval/internal/scoring/maths/algebra"
)

// degrees accepts what makes ^ a sign for degrees.
func (p *parser) degrees() bool {
	if p.accept("∘") || p.accept("°") {
		return true
	}
	if p.pos+2 < len(p.tokens) && p.peek() == "{" && p.tokens[p.pos+1].text == "∘" && p.tokens[p.pos+2].text == "}" {
		p.pos += 3
		return true
	}
	return false
}

// ordinal skips the letters of 1^{st}.
func (p *parser) ordinal() bool {
	at, letters := p.pos-1, ""
	if at == 0 || p.tokens[at-1].kind != number {
		return false
	}
	braces := p.accept("{")
	for len(letters) < 2 && p.pos < len(p.tokens) && (p.tokens[p.pos].kind == word || p.tokens[p.pos].kind == symbol) {
		letters += p.tokens[p.pos].text
		p.pos++
	}
	n := p.tokens[at-1].text
	if want := map[byte]string{'1': "st", '2': "nd", '3': "rd"}[n[len(n)-1]]; (letters == "th" || letters != "" && letters == want) && (!braces || p.accept("}")) {
		return true
	}
	p.pos = at + 1
	return false
}

// transposes accepts the T of a transposed matrix.
func (p *parser) transposes() bool {
	at := p.pos
	braces := p.accept("{")
	if p.next(symbol) && p.tokens[p.pos].text == "T" {
		if p.pos++; !braces || p.accept("}") {
			return true
		}
	}
	p.pos = at
	return false
}

// temperature reads the C of 25°C at the end.
func (p *parser) temperature() {
	if rest := p.tokens[min(len(p.tokens), p.pos+1):]; (len(rest) == 0 || len(rest) == 1 && rest[0].text == ".") && p.next(symbol) && strings.Contains("CF", p.tokens[p.pos].text) {
		p.unit = "°" + p.tokens[p.pos].text
		p.pos++
	}
}

func degrees(e *algebra.Expr) *algebra.Expr { return algebra.Apply("degrees", e) }

// plainDegrees takes the signs for degrees off an angle. Those in the argument
// of a function stay.
func plainDegrees(e *algebra.Expr) (*algebra.Expr, bool) {
	switch e.Op {
	case algebra.Call:
		if e.Name == "degrees" {
			return e.Args[0], true
		}
	case algebra.Neg, algebra.Add, algebra.Mul, algebra.Div:
		args, found := make([]*algebra.Expr, len(e.Args)), false
		for i, arg := range e.Args {
			a, degrees := plainDegrees(arg)
			args[i], found = a, found || degrees
		}
		if found {
			return algebra.Make(e.Op, args...), true
		}
	}
	return e, false
}
