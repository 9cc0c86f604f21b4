package latex

import (
	"strings"

	"speceval/internal/scoring/maths/algebra"
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
	for p.next(word) && strings.Contains(" if for when where ", " "+p.tokens[p.pos].text+" ") {
		p.pos++
	}
}

// Bounds of determinants: of the rows, and of the nodes of an element, which is
// in the expansion several times.
const (
	largestDeterminant = 4
	largestElement     = 40
)

// determinant is the value of a matrix between bars, if it is small.
func (p *parser) determinant(m Answer) Answer {
	n := m.Columns
	if m.Kind != Matrix || n > largestDeterminant || n*n != len(m.Items) {
		return m
	}
	elements := make([]*algebra.Expr, n*n)
	for i, item := range m.Items {
		if elements[i] = p.expr(item); elements[i].Size(largestElement) == largestElement {
			return m
		}
	}
	return value(expanded(elements, n))
}

// expanded is the determinant of n rows by its expansion along the first.
func expanded(m []*algebra.Expr, n int) *algebra.Expr {
	if n == 1 {
		return m[0]
	}
	terms := make([]*algebra.Expr, n)
	for column := range n {
		var minor []*algebra.Expr
		for i := n; i < len(m); i++ {
			if i%n != column {
				minor = append(minor, m[i])
			}
		}
		terms[column] = algebra.Make(algebra.Mul, m[column], expanded(minor, n-1))
		if column%2 == 1 {
			terms[column] = algebra.Make(algebra.Neg, terms[column])
		}
	}
	return algebra.Make(algebra.Add, terms...)
}

// transposed exchanges the rows and the columns of a matrix.
func transposed(m Answer) Answer {
	rows := len(m.Items) / m.Columns
	items := make([]Answer, 0, len(m.Items))
	for column := range m.Columns {
		for row := range rows {
			items = append(items, m.Items[row*m.Columns+column])
		}
	}
	m.Items, m.Columns = items, rows
	return m
}
