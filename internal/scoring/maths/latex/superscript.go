package latex

import (
	"strings"

	"speceval/internal/scoring/maths/algebra"
)

// braced tries to read what may stand in braces: nothing is read if that is not there.
func (p *parser) braced(read func() bool) bool {
	start := p.pos
	braces := p.accept("{")
	if read() && (!braces || p.accept("}")) {
		return true
	}
	p.pos = start
	return false
}

// degrees accepts what makes ^ a sign for degrees.
func (p *parser) degrees() bool {
	return p.accept("°") || p.braced(func() bool { return p.accept("∘") })
}

// ordinal skips the letters of 1^{st}.
func (p *parser) ordinal() bool {
	n := p.ahead(-2)
	return n.kind == number && p.braced(func() bool {
		letters := ""
		for len(letters) < 2 && (p.next(word) || p.next(symbol)) {
			letters += p.ahead(0).text
			p.pos++
		}
		want := map[byte]string{'1': "st", '2': "nd", '3': "rd"}[n.text[len(n.text)-1]]
		return letters == "th" || letters != "" && letters == want
	})
}

// inDegrees is an angle, or reads the C of 25°C at the end.
func (p *parser) inDegrees(a Answer) Answer {
	if p.next(symbol) && strings.Contains("CF", p.ahead(0).text) && p.lastBut(1) {
		p.unit = "°" + p.ahead(0).text
		p.pos++
	}
	return p.each(a, func(e *algebra.Expr) *algebra.Expr { return algebra.Apply("degrees", e) })
}

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
