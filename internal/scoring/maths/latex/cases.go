package latex

import (
	"strings"
)

// cases reads the rows of an environment behind a brace: a list of conditions
// that hold together, or, where each row has a condition of its own, a matrix
// whose bracket is {.
func (p *parser) cases(name string) Answer {
	a := Answer{Kind: List}
	end := `\end` + name
	bars := p.bars
	p.bars = 0
	p.cells++
	defer func() { p.bars, p.cells = bars, p.cells-1 }()
	columns := 0
	for !p.failed && !p.accept(end) {
		n := 0
		for more := true; more && !p.failed; n++ {
			p.conditional()
			a.Items = append(a.Items, p.relation())
			for p.accept(",") || p.accept(".") || p.accept(";") {
			}
			p.conditional()
			more = p.accept("&")
		}
		if columns == 0 {
			columns = n
		}
		if n != columns || !p.accept(`\\`) && p.peek() != end {
			return p.fail()
		}
	}
	if columns > 1 {
		a.Kind, a.Columns, a.Open, a.Close = Matrix, columns, '{', '{'
	} else if len(a.Items) == 1 {
		return a.Items[0]
	}
	return a
}

// conditional skips the words before a condition.
func (p *parser) conditional() {
	for p.next(word) && strings.Contains(" if for when where ", " "+p.ahead(0).text+" ") {
		p.pos++
	}
}
