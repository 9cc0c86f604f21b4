package latex

import (
	"cmp"
	"slices"
	"strings"

	"speceval/internal/scoring/maths/algebra"
	"speceval/internal/scoring/words"
)

// environments are the names of environments by what is between \begin and \end.
var environments = words.ByWord(map[string]string{
	"rows":  "pmatrix bmatrix Bmatrix matrix smallmatrix psmallmatrix vmatrix Vmatrix array",
	"cases": "cases dcases rcases",
	"lines": "align aligned equation gather gathered split displaymath math multline alignat",
})

func (p *parser) environment(name string) Answer {
	end := `\end` + name
	switch environments[name] {
	case "lines":
		a := p.list()
		p.expect(end)
		return a
	case "cases":
		return p.cases(end)
	case "":
		return p.fail()
	}
	if name == "array" {
		p.raw() // the columns
	}
	m := p.rows(end, p.relation)
	switch {
	case m.Columns == 0:
		return p.fail()
	case name == "array" && m.Columns == 1 && !slices.ContainsFunc(m.Items, func(item Answer) bool { return item.Kind != Relation }):
		return Answer{Kind: List, Items: m.Items} // equations, one a line
	case strings.HasSuffix(strings.ToLower(name), "vmatrix"):
		m.Open, m.Close = '|', '|'
	}
	return m
}

// rows reads a matrix up to its end, in rows of as many cells.
func (p *parser) rows(end string, cell func() Answer) Answer {
	m := Answer{Kind: Matrix}
	bars := p.bars
	p.bars = 0
	p.cells++
	defer func() { p.bars, p.cells = bars, p.cells-1 }()
	for !p.failed && !p.accept(end) {
		row := []Answer{cell()}
		for p.accept("&") {
			row = append(row, cell())
		}
		m.Items, m.Columns = append(m.Items, row...), cmp.Or(m.Columns, len(row))
		if len(row) != m.Columns || !p.accept(`\\`) && p.peek() != end {
			return p.fail()
		}
	}
	return m
}

// cases reads what is behind a brace: a list of conditions that hold together, or, where
// each row has a condition of its own, a matrix whose bracket is {.
func (p *parser) cases(end string) Answer {
	m := p.rows(end, p.branch)
	switch {
	case m.Columns > 1:
		m.Open, m.Close = '{', '{'
		return m
	case len(m.Items) == 1:
		return m.Items[0]
	}
	return Answer{Kind: List, Items: m.Items}
}

// branch reads a cell with the words and marks before and behind it: 0, if x > 1.
func (p *parser) branch() Answer {
	const leads = " if for when where "
	p.skip(leads)
	a := p.relation()
	p.skip(" , . ; ")
	p.skip(leads)
	return a
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
	signs := ""
	a.Any(func(e *algebra.Expr) bool {
		if isSign(e) {
			signs += e.Name
		}
		return false
	})
	n, op := strings.Count(signs, "±"), "±"
	switch {
	case signs == "":
		return a, true
	case n > maxSigns:
		return a, false
	case n == 0:
		n, op = 1, "∓"
	}
	var readings []Answer
	for bits := range 1 << n {
		k := 0
		readings = append(readings, a.Rewrite(func(e *algebra.Expr) *algebra.Expr {
			minus := bits&1 == 0 // of ∓
			switch {
			case !isSign(e):
				return nil
			case e.Name == "±":
				minus = bits>>k&1 == 1
				k++
			}
			if minus {
				return algebra.Make(algebra.Neg, e.Args[0])
			}
			return e.Args[0]
		}))
	}
	return Answer{Kind: List, Items: readings, Op: op}, true
}

func isSign(e *algebra.Expr) bool { return e.Op == algebra.Call && strings.Contains("±∓", e.Name) }
