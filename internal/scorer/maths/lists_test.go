package maths_test

import (
	"fmt"
	"strings"
)

// listed are kinds of several elements, each in one of its forms.
var listed = []kind{
	{"set", sets}, {"list", lists}, {"tuple", tuples}, {"matrix", matrices}, {"boxes", boxes}, {"repeat", repeats}, {"matrix product", matrixProducts},
}

// element is a small number for a list, in a few forms: whole, a fraction, a
// root, or a multiple of π.
func element(d *dice) sample {
	switch d.below(6) {
	case 0:
		return row{draw: `r = ratio()`, gold: `«r»`, same: []string{`«num(r)»/«den(r)»`, `«sign(r)»\dfrac{«num(abs(r))»}{«den(r)»}`, `«sign(r)»\frac{«3*num(abs(r))»}{«3*den(r)»}`},
			near: []string{`«r+1»`, `«-r»`}}.make(d)
	case 1:
		return row{draw: `b = 2..9 ; c = 2 | 3 | 5 | 6 | 7 | 10 | 11 | 13 | 14 | 15 | 17 | 19 | 21`, gold: `«b»\sqrt{«c»}`, same: []string{`\sqrt{«b*b*c»}`},
			near: []string{`«b+1»\sqrt{«c»}`, `-«b»\sqrt{«c»}`, `\sqrt{«b*c»}`}}.make(d)
	default:
		return row{draw: `n = -60..60`, gold: `«n»`, same: []string{`«n».0`, `\frac{«2*n»}{2}`}, near: []string{`«n+1»`, `«n-1»`, `«n+10»`}}.make(d)
	}
}

// elements are n that are different from one another, and from what each of
// them might be mistaken for.
func elements(d *dice, n int) []sample {
	var all []sample
	taken := map[string]bool{}
	for len(all) < n {
		e := element(d)
		free := !taken[e.gold]
		for _, miss := range e.near {
			free = free && !taken[miss]
		}
		if !free {
			continue
		}
		taken[e.gold] = true
		for _, miss := range e.near {
			taken[miss] = true
		}
		all = append(all, e)
	}
	return all
}

// golds and forms write elements in their usual forms, or in any.
func golds(elements []sample) []string {
	var list []string
	for _, e := range elements {
		list = append(list, e.gold)
	}
	return list
}

func forms(d *dice, elements []sample) []string {
	var list []string
	for _, e := range elements {
		list = append(list, e.form(d))
	}
	return list
}

// spoilt is a list with another element in a place.
func spoilt(d *dice, elements []sample) []string {
	list := forms(d, elements)
	i := d.below(len(list))
	list[i] = elements[i].miss(d)
	return list
}

func sets(d *dice) sample {
	all := elements(d, d.from(2, 5))
	set := func(list []string) string { return between(d, `\{`, joined(d, list), `\}`) }
	s := a(`\{` + strings.Join(golds(all), ", ") + `\}`)
	s.only = true
	s.equals(set(golds(all)), set(shuffled(d, golds(all))), set(shuffled(d, forms(d, all))),
		`\{`+joined(d, append(golds(all), all[0].gold))+`\}`, strings.Join(golds(all), ", "))
	s.misses(set(golds(all)[1:]), set(golds(all)[:len(all)-1]), set(append(golds(all), "1000")), set(spoilt(d, all)),
		set(shuffled(d, spoilt(d, all))), all[0].gold)
	s.leaves("("+strings.Join(golds(all), ", ")+")", "["+strings.Join(golds(all), ", ")+"]")
	return s
}

// lists are answers without brackets, in order.
func lists(d *dice) sample {
	all := elements(d, d.from(2, 4))
	s := a(strings.Join(golds(all), ", "))
	s.only = true
	last := len(all) - 1
	and := func(word string) string {
		list := forms(d, all)
		return strings.Join(list[:last], ", ") + `\text{ ` + word + ` }` + list[last]
	}
	s.equals(joined(d, golds(all)), joined(d, forms(d, all)), and("and"), and("or"), `\{`+joined(d, golds(all))+`\}`,
		"x="+strings.Join(golds(all), ", x="))
	s.misses(joined(d, spoilt(d, all)), joined(d, golds(all)[1:]), joined(d, append(golds(all), "1000")), all[last].gold, all[0].gold,
		strings.Join(golds(all), "+"))
	s.leaves(joined(d, append(golds(all)[1:], all[0].gold)), "("+joined(d, golds(all))+")")
	return s
}

func tuples(d *dice) sample {
	all := elements(d, d.from(2, 4))
	tuple := func(list []string) string { return between(d, "(", joined(d, list), ")") }
	s := a("(" + strings.Join(golds(all), ",") + ")")
	names := map[int]string{2: "(x,y)", 3: "(a,b,c)", 4: "(p,q,r,s)"}[len(all)]
	s.equals(tuple(golds(all)), tuple(forms(d, all)), tuple(forms(d, all)), names+" = "+tuple(golds(all)))
	reversed := golds(all)
	reversed[0], reversed[1] = reversed[1], reversed[0]
	s.misses(tuple(reversed), tuple(spoilt(d, all)), tuple(spoilt(d, all)), tuple(append(golds(all), "0")), tuple(golds(all)[1:]),
		all[0].gold, strings.Join(golds(all), "+"))
	s.leaves(`\{`+strings.Join(golds(all), ",")+`\}`, strings.Join(golds(all), ","), "["+strings.Join(golds(all), ",")+"]",
		`\langle `+strings.Join(golds(all), ",")+` \rangle`)
	return s
}

func matrices(d *dice) sample {
	rows, columns := d.from(1, 3), d.from(2, 3)
	all := elements(d, rows*columns)
	write := func(environment string, list []string, columns int) string {
		var lines []string
		for i := 0; i < len(list); i += columns {
			lines = append(lines, strings.Join(list[i:i+columns], pick(d, " & ", "&")))
		}
		return `\begin{` + environment + "} " + strings.Join(lines, pick(d, ` \\ `, `\\`)) + pick(d, "", " ") + ` \end{` + environment + "}"
	}
	s := a(write("pmatrix", golds(all), columns))
	s.equals(write("bmatrix", golds(all), columns), write("pmatrix", forms(d, all), columns), write("bmatrix", forms(d, all), columns),
		`\left(`+strings.Replace(write("array", golds(all), columns), "{array}", "{array}{"+strings.Repeat("c", columns)+"}", 1)+`\right)`,
		"A = "+write("pmatrix", golds(all), columns))
	transposed := make([]string, 0, len(all))
	for c := range columns {
		for r := range rows {
			transposed = append(transposed, all[r*columns+c].gold)
		}
	}
	s.misses(write("pmatrix", spoilt(d, all), columns), write("bmatrix", spoilt(d, all), columns),
		write("pmatrix", append(golds(all), golds(all)[:columns]...), columns), all[0].gold)
	if turned := write("pmatrix", transposed, rows); rows > 1 {
		s.misses(turned)
	} else {
		s.leaves(turned) // vectors are written across, and down
	}
	return s
}

// boxes are lists of which every element has a box of its own.
func boxes(d *dice) sample {
	all := elements(d, d.from(2, 3))
	s := a(strings.Join(golds(all), ", "))
	s.whole, s.only = true, true
	say := func(list []string) string {
		var boxes []string
		for _, item := range list {
			boxes = append(boxes, pick(d, `$\boxed{`+item+`}$`, `\boxed{`+item+`}`))
		}
		last := len(boxes) - 1
		return "The solutions are " + strings.TrimPrefix(strings.Join(boxes[:last], ", ")+" and "+boxes[last]+".", " and ")
	}
	s.equals(say(golds(all)), say(forms(d, all)))
	s.misses(say(golds(all)[1:]), say(spoilt(d, all)), say(append(golds(all), "1000")))
	return s
}

// repeats are lists in which an element is there twice.
func repeats(d *dice) sample {
	all := elements(d, d.from(2, 3))
	g := golds(all)
	twice := append(shuffled(d, g), pick(d, g...))
	s := a(strings.Join(g, ", "))
	s.only = true
	s.equals(joined(d, twice), joined(d, shuffled(d, twice)), `\{`+joined(d, twice)+`\}`, "x="+strings.Join(twice, ", x="))
	s.misses(strings.Join([]string{g[0], g[0], g[0]}, ", "), joined(d, append(spoilt(d, all), g[0])), joined(d, append(twice, "1000")), "("+joined(d, twice)+", 0)")
	return s
}

// square is a matrix of two rows.
type square [4]int

func (d *dice) square() (m square) {
	for i := range m {
		m[i] = d.apart(-6, 6, 0)
	}
	return m
}

func (m square) latex() string {
	return fmt.Sprintf(`\begin{pmatrix}%d & %d \\ %d & %d\end{pmatrix}`, m[0], m[1], m[2], m[3])
}

func (m square) times(n square) square {
	return square{m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3], m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3]}
}

// matrixProducts are left as they are.
func matrixProducts(d *dice) sample {
	m, n := d.square(), d.square()
	product := m.times(n)
	s := a(product.latex())
	s.equals(m.latex()+n.latex(), m.latex()+` \cdot `+n.latex(), strings.ReplaceAll(m.latex()+n.latex(), "pmatrix", "bmatrix"), "2"+m.latex()+n.latex()+"-"+product.latex())
	s.misses(m.latex()+n.latex()+"+"+product.latex(), m.latex()+m.times(n).latex())
	if n.times(m) != product {
		s.misses(n.latex()+m.latex(), n.latex()+` \cdot `+m.latex())
	}
	if elementwise := (square{m[0] * n[0], m[1] * n[1], m[2] * n[2], m[3] * n[3]}); elementwise != product {
		s.misses(elementwise.latex())
	}
	if power := m.times(m); power != product {
		s.misses(m.latex() + "^2")
	} else {
		s.equals(m.latex() + "^2")
	}
	return s
}
