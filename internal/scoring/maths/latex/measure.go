package latex

import (
	"strings"

	"speceval/internal/scoring/maths/algebra"
	"speceval/internal/scoring/words"
)

// measured reads a sum with a unit, or words.
func (p *parser) measured() Answer {
	outer := p.unit
	defer func() { p.unit = outer }()
	p.unit = ""
	if p.next(word) {
		if currency, _ := words.Unit(p.ahead(0).text); strings.Contains("$€£", currency) && currency != "" && p.ahead(1).kind == number {
			p.pos++ // USD 5
			p.unit = currency
		} else if said := p.words(); p.next(number) && (said.Text == "minus" || said.Text == "negative") {
			return p.negative(p.measured())
		} else if strings.HasSuffix(said.Text, "real numbers except") && (p.next(number) || p.peek() == "-") {
			rest := p.list()
			if rest.Kind != List {
				rest.Items = []Answer{rest}
			}
			return Answer{Kind: Union, Op: "∖", Items: []Answer{value(algebra.Var(`\mathbb R`)), {Kind: Set, Items: rest.Items}}}
		} else if !p.next(number) || !strings.Contains(" about approximately roughly around nearly ", " "+said.Text+" ") {
			return said
		}
	}
	a := p.sum()
	if p.accept(`\over`) {
		a = value(algebra.Make(algebra.Div, p.expr(a), p.expr(p.sum())))
	} else if p.accept(`\choose`) {
		a = value(algebra.Apply("binom", p.expr(a), p.expr(p.sum())))
	}
	if a.Kind != Value || p.chance(&a) {
		return a
	}
	if p.accept("%") {
		a.Percent = true
	}
	if sign := p.peek(); sign != "" && strings.Contains(currencies, " "+sign+" ") {
		p.pos++
		a.Unit = sign
	}
	if n, ok := words.Number(p.ahead(1).text); ok && p.remarked() == 1 && algebra.Same(a.Expr, algebra.Int(n)) {
		p.pos += 3 // 12 (twelve)
	}
	if p.fractionOfWords() || p.next(word) || p.remarked() > 0 {
		p.units(&a)
	}
	if a.Unit == "" {
		a.Unit = p.unit
	}
	for !p.failed && a.Unit != "" && p.smaller(&a) {
	}
	return a
}

// chance reads the rest of 1 in 3, if that is all.
func (p *parser) chance(a *Answer) bool {
	if !p.sees("in") || p.ahead(1).kind != number || !p.lastBut(2) || a.Expr.Op != algebra.Number {
		return false
	}
	of, ok := numeral(p.ahead(1).text)
	if !ok || a.Expr.Num.Cmp(of.Num) > 0 {
		return false
	}
	a.Expr, p.pos = algebra.Make(algebra.Div, a.Expr, of), p.pos+2
	return true
}

// smaller adds a part in a smaller unit that comes next: 5 hours and 30 minutes.
func (p *parser) smaller(a *Answer) bool {
	before := *p
	p.accept(",")
	p.accept("∧")
	if of, large := Scale(a.Unit); p.next(number) && len(a.Nouns) == 0 && a.Limit == "" {
		b := p.measured()
		kind, small := Scale(b.Unit)
		r, ok := algebra.Exact(algebra.Make(algebra.Mul, p.expr(b), algebra.Rational(small)))
		if !p.failed && ok && b.Unit != "" && of == kind && r.Cmp(large) < 0 {
			a.Expr = algebra.Make(algebra.Add, a.Expr, algebra.Rational(r.Quo(r, large)))
			a.Nouns, a.Limit = b.Nouns, b.Limit
			return true
		}
	}
	*p = before
	return false
}

// undegreed makes the sign for degrees of a value its unit.
func undegreed(a Answer) Answer {
	if a.Kind == Value {
		if e, degrees := plainDegrees(a.Expr); degrees {
			switch a.Unit {
			case "c", "C", "°C":
				a.Unit = "°C"
			case "f", "F", "°F":
				a.Unit = "°F"
			default:
				if direction, ok := compass[strings.ToLower(a.Unit)]; ok {
					a.Nouns = append(a.Nouns, direction)
				}
				a.Unit = "°"
			}
			a.Expr = e
		}
	}
	for i := range a.Items {
		a.Items[i] = undegreed(a.Items[i])
	}
	return a
}

// words reads a run of words.
func (p *parser) words() Answer {
	var text []string
	for p.next(word) || p.next(symbol) && p.ahead(1).kind == word {
		text = append(text, p.ahead(0).text)
		p.pos++
	}
	return Answer{Kind: Words, Text: strings.Join(text, " ")}
}

// units reads the words behind a value, which multiply it, spell its unit or say what it counts.
func (p *parser) units(a *Answer) {
	parts := p.unitWords()
	for ; len(parts) > 0; parts = parts[1:] {
		factor, multiplies := words.Factor(parts[0])
		if power, raised := powers[parts[0]]; raised {
			a.Expr = algebra.Make(algebra.Pow, a.Expr, algebra.Int(power))
		} else if multiplies {
			a.Expr = algebra.Make(algebra.Mul, a.Expr, algebra.Rational(factor))
		} else if parts[0] == "factorial" {
			a.Expr = algebra.Apply("factorial", a.Expr)
		} else {
			break
		}
	}
	u := ""
	if u, a.Nouns, a.Limit = unit(parts); u == "%" {
		a.Percent = true
	} else if u != "" {
		a.Unit = u
	}
}

// unitWords are words and signs that may make a unit.
func (p *parser) unitWords() (parts []string) {
	fraction := false
	for len(parts) < 8 {
		t := p.ahead(0)
		switch {
		case p.fractionOfWords():
			fraction = true
			p.pos++
		case fraction && p.sees("}", "{"):
			parts = append(parts, "/")
			p.pos++
		case fraction && t.text == "}":
			fraction = false
		case t.kind == word && t.text == "to":
			return parts
		case t.kind == word && strings.Contains(sentenceWords, " "+t.text+" "):
			p.fail()
			return nil
		case t.kind == word, t.kind == symbol && len(t.text) == 1, t.kind == operator && t.text == "/":
			parts = append(parts, t.text)
		case t.kind == operator && t.text == "^":
			parts = append(parts, "^", p.exponent())
			continue
		case t.kind == operator && t.text == "(":
			n := p.remarked()
			if n == 0 {
				return parts
			}
			var remark []string
			for k := range n {
				remark = append(remark, p.ahead(k+1).text)
			}
			p.pos += n + 2
			if words.Limit(remark) == "" || !words.Explains(remark) {
				parts = append(parts, remark...)
			}
			continue
		case t.kind == operator && (t.text == "*" || t.text == "×" || t.text == "." && p.ahead(1).kind == word): // sq. cm
		default:
			return parts
		}
		p.pos++
	}
	return parts
}

// fractionOfWords reports whether a fraction comes next that has words as its numerator, \frac{km}{h}.
func (p *parser) fractionOfWords() bool {
	return p.sees(`\frac`, "{") && p.ahead(2).kind == word
}

// currencies are the signs of money, before or after a number.
const currencies = " $ £ € ₹ ¥ ₩ "

// exponent reads the plain number after ^ in a unit.
func (p *parser) exponent() string {
	p.pos++
	braces, sign := p.accept("{"), ""
	if p.accept("-") {
		sign = "-"
	}
	digits := p.ahead(0)
	p.pos++
	if digits.kind != number || braces && !p.accept("}") {
		p.fail()
	}
	return sign + digits.text
}

// remarked is how many words a remark in brackets has, (approximately) say; 0 if none comes next.
func (p *parser) remarked() (n int) {
	if !p.sees("(") {
		return 0
	}
	for p.ahead(n+1).kind == word {
		n++
	}
	if p.ahead(n+1).text != ")" {
		return 0
	}
	return n
}
