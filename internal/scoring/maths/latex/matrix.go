package latex

import (
	"slices"
	"strings"

	"speceval/internal/scoring/maths/algebra"
)

// environment reads what is between \begin and \end.
func (p *parser) environment(name string) Answer {
	switch name {
	case "pmatrix", "bmatrix", "Bmatrix", "matrix", "smallmatrix", "psmallmatrix":
		return p.matrix(name, 0)
	case "vmatrix", "Vmatrix":
		return p.matrix(name, '|')
	case "cases", "dcases", "rcases":
		return p.cases(name)
	case "array":
		p.raw() // the columns
		a := p.matrix(name, 0)
		if a.Columns == 1 && !slices.ContainsFunc(a.Items, func(item Answer) bool { return item.Kind != Relation }) {
			return Answer{Kind: List, Items: a.Items} // equations, one a line
		}
		return a
	case "align", "aligned", "equation", "gather", "gathered", "split", "displaymath", "math", "multline", "alignat":
		a := p.list()
		p.expect(`\end` + name)
		return a
	}
	return p.fail()
}

// matrix reads rows of the same length.
func (p *parser) matrix(name string, bracket byte) Answer {
	m := Answer{Kind: Matrix, Open: bracket, Close: bracket}
	end := `\end` + name
	bars := p.bars
	p.bars = 0
	p.cells++
	defer func() { p.bars, p.cells = bars, p.cells-1 }()
	column := 0
	for !p.failed {
		if p.accept(end) {
			break
		}
		m.Items = append(m.Items, p.relation())
		column++
		if p.accept("&") {
			continue
		}
		if m.Columns == 0 {
			m.Columns = column
		}
		if column != m.Columns {
			return p.fail()
		}
		column = 0
		if !p.accept(`\\`) && p.peek() != end {
			return p.fail()
		}
	}
	if m.Columns == 0 || column != 0 {
		return p.fail()
	}
	return m
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

// cross multiplies with a × sign, which is another product between two vectors, and not read.
func (p *parser) cross(a, b Answer) Answer {
	hasVector := func(a Answer) bool {
		return a.Kind == Value && a.Expr.Any(func(e *algebra.Expr) bool { return e.Op == algebra.Symbol && strings.HasPrefix(e.Name, `\vec `) })
	}
	if hasVector(a) && hasVector(b) {
		return p.fail()
	}
	return p.times(a, b)
}

// expandSigns replaces an answer with ± by the list of its readings: ± and ∓
// of the first one go together, and each further ± goes by itself.
func expandSigns(a Answer) (Answer, bool) {
	switch a.Kind {
	case List, Set:
		var items []Answer
		for _, item := range a.Items {
			item, ok := expandSigns(item)
			if !ok {
				return a, false
			}
			if item.Kind == List {
				items = append(items, item.Items...)
			} else {
				items = append(items, item)
			}
		}
		a.Items = items
		return a, true
	}
	up, down := 0, 0
	a.Any(func(e *algebra.Expr) bool {
		if isSign(e) && e.Name == "±" {
			up++
		} else if isSign(e) {
			down++
		}
		return false
	})
	n, op := up, "±"
	if up == 0 {
		n, op = min(down, 1), "∓"
	}
	if n == 0 {
		return a, true
	}
	if n > maxSigns {
		return a, false
	}
	var readings []Answer
	for bits := range 1 << n {
		k := 0
		readings = append(readings, a.Rewrite(func(e *algebra.Expr) *algebra.Expr {
			minus := bits&1 == 0 // of ∓
			if isSign(e) && e.Name == "±" {
				minus = bits>>k&1 == 1
				k++
			}
			switch {
			case !isSign(e):
				return nil
			case minus:
				return algebra.Make(algebra.Neg, e.Args[0])
			}
			return e.Args[0]
		}))
	}
	return Answer{Kind: List, Items: readings, Op: op}, true
}

func isSign(e *algebra.Expr) bool { return e.Op == algebra.Call && strings.Contains("±∓", e.Name) }
