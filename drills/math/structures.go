package main

import (
	"fmt"
	"math/big"
	"strings"
)

// element is a small number for a list, in a few forms: whole, a fraction, a
// root, or a multiple of π.
func element(d *dice) sample {
	switch d.below(6) {
	case 0:
		r := d.ratio()
		s := a(latex(r))
		s.equals(r.String(), frac(`\dfrac`, r.Num(), r.Denom()), frac(`\frac`, times(r.Num(), 3), times(r.Denom(), 3)))
		s.misses(latex(new(big.Rat).Add(r, big.NewRat(1, 1))), latex(new(big.Rat).Neg(r)))
		return s
	case 1:
		x := surd{0, d.from(2, 9), pick(d, squarefree...), 1}
		s := a(x.latex())
		s.equals(fmt.Sprintf(`\sqrt{%d}`, x.b*x.b*x.c))
		s.misses(surd{0, x.b + 1, x.c, 1}.latex(), surd{0, -x.b, x.c, 1}.latex(), fmt.Sprintf(`\sqrt{%d}`, x.b*x.c))
		return s
	default:
		n := d.from(-60, 60)
		s := a(fmt.Sprint(n))
		s.equals(fmt.Sprintf(`%d.0`, n), fmt.Sprintf(`\frac{%d}{2}`, 2*n))
		s.misses(fmt.Sprint(n+1), fmt.Sprint(n-1), fmt.Sprint(n+10))
		return s
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

func plusMinus(d *dice) sample {
	x := d.surd()
	if x.b < 0 {
		x.b = -x.b
	}
	y := surd{x.a, -x.b, x.c, x.n}
	root := term(x.b, fmt.Sprintf(`\sqrt{%d}`, x.c))[1:]
	center := sum(term(x.a, ""))
	if x.a == 0 {
		center = ""
	}
	s := a(over(center+`\pm `+root, x.n))
	s.only = true
	both := []string{x.latex(), y.latex()}
	s.equals(strings.Join(both, ", "), y.latex()+", "+x.latex(), `\{`+strings.Join(shuffled(d, both), ",")+`\}`,
		strings.Join(both, `\text{ and }`), over(center+` \pm`+root, x.n))
	other := surd{x.a + 1, x.b, x.c, x.n}
	s.misses(x.latex(), y.latex(), strings.Join([]string{x.latex(), other.latex()}, ", "), over(fmt.Sprintf(`%d \pm %s`, x.a+1, root), x.n),
		over(fmt.Sprintf(`%s\pm %s`, center, `\sqrt{23}`), x.n), strings.Join(append(both, "0"), ", "))
	if x.a != 0 {
		s.misses(over(fmt.Sprintf(`%d\pm %s`, -x.a, root), x.n))
	}
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

// ends are a lower and an upper number in forms.
func ends(d *dice) (low, high sample) {
	p := d.from(-30, 20)
	q := p + d.from(3, 40)
	end := func(n int) sample {
		s := a(fmt.Sprint(n))
		s.equals(fmt.Sprintf("%d.0", n), fmt.Sprintf(`\frac{%d}{3}`, 3*n))
		s.misses(fmt.Sprint(n + 1))
		return s
	}
	return end(p), end(q)
}

func intervals(d *dice) sample {
	low, high := ends(d)
	open, end := pick(d, "(", "["), pick(d, ")", "]")
	infinite := d.chance(0.3)
	if infinite {
		high, end = a(`\infty`), ")"
		high.equals(`+\infty`)
	}
	if open == "(" && end == ")" && !infinite {
		open = "[" // otherwise it might be a point
	}
	write := func(open, low, high, end string) string {
		return between(d, open, low+","+d.gap()+high, end)
	}
	other := map[string]string{"(": "[", "[": "(", ")": "]", "]": ")"}
	s := a(open + low.gold + "," + high.gold + end)
	s.equals(write(open, low.form(d), high.form(d), end), write(open, low.gold, high.gold, end),
		`x \in `+write(open, low.gold, high.gold, end))
	s.misses(write(other[open], low.gold, high.gold, end), write(open, low.miss(d), high.gold, end), low.gold)
	if infinite {
		s.misses(write("(", `-\infty`, low.gold, end), write(open, low.gold, "1000", end))
	} else {
		s.misses(write(open, low.gold, high.gold, other[end]), write(open, low.gold, high.miss(d), end),
			write(open, low.gold, `\infty`, ")"), `\{`+low.gold+","+high.gold+`\}`)
	}
	return s
}

func unions(d *dice) sample {
	p, q := ends(d)
	open, end := pick(d, "(", "["), pick(d, ")", "]")
	left := `(-\infty,` + p.gold + end
	right := open + q.gold + `,\infty)`
	s := a(left + `\cup ` + right)
	other := map[string]string{"(": "[", "[": "(", ")": "]", "]": ")"}
	s.equals(right+` \cup `+left, `\left(-\infty,`+p.form(d)+`\right`+end+`\cup\left`+open+q.form(d)+`,+\infty\right)`,
		left+` \cup `+open+q.gold+`, +\infty)`, `x \in `+left+`\cup `+right)
	s.misses(left, right, `(-\infty,`+p.gold+other[end]+`\cup `+right, left+`\cup `+other[open]+q.gold+`,\infty)`,
		`(-\infty,`+p.miss(d)+end+`\cup `+right, left+`\cap `+right, `(-\infty,\infty)`, open+p.gold+","+q.gold+end,
		left+`\cup `+open+q.gold+`,1000)`)
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
