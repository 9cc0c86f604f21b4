package main

import (
	"fmt"
	"strings"
)

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

// namedRatios say between what they are.
func namedRatios(d *dice) sample {
	p := d.from(1, 20)
	q := d.apart(1, 20, p)
	names := pick(d, [2]string{"x", "y"}, [2]string{"AB", "CD"}, [2]string{`\text{boys}`, `\text{girls}`}, [2]string{"a", "b"}, [2]string{"AP", "PB"})
	write := func(p, q int) string {
		return fmt.Sprintf(pick(d, "%s:%s = %d:%d", "%s : %s = %d : %d", "%s:%s=%d:%d"), names[0], names[1], p, q)
	}
	s := a(fmt.Sprintf("%d:%d", p, q))
	s.only = true
	s.equals(write(p, q), write(2*p, 2*q), fmt.Sprintf(`\text{ratio} = %d:%d`, p, q), fmt.Sprintf(`\text{The ratio is } %d:%d`, p, q), fmt.Sprintf(`%d \text{ to } %d`, p, q))
	s.misses(write(q, p), write(p+1, q), write(p, q+1), fmt.Sprintf(`\text{ratio} = %d:%d`, q, p))
	return s
}

// coordinatesByName are points whose coordinates have names.
func coordinatesByName(d *dice) sample {
	all := elements(d, 2)
	g := golds(all)
	s := a("(" + strings.Join(g, ", ") + ")")
	s.only = true
	write := func(x, y string) string {
		return pick(d, "x = "+x+pick(d, "; ", ", ", `;\ `, `,\quad `, `\text{ and }`)+"y = "+y, "y="+y+pick(d, "; ", ", ")+"x="+x, `\begin{cases}x = `+x+` \\ y = `+y+`\end{cases}`)
	}
	s.equals(write(g[0], g[1]), write(g[0], g[1]), "(x, y) = ("+g[0]+", "+g[1]+")", write(all[0].form(d), all[1].form(d)))
	s.misses(write(g[1], g[0]), write(g[0], "1000"), write(all[0].miss(d), g[1]), "x = "+g[0]+"; x = "+g[1])
	return s
}

// congruences are those of whole numbers.
func congruences(d *dice) sample {
	m := d.from(3, 30)
	r := d.from(1, m-1)
	s := a(fmt.Sprintf(`%d \pmod{%d}`, r, m))
	s.equals(fmt.Sprintf(`%d\pmod{%d}`, r, m), fmt.Sprintf(`x \equiv %d \pmod{%d}`, r, m), fmt.Sprintf(`%d \mod %d`, r, m))
	s.misses(fmt.Sprintf(`%d \pmod{%d}`, r, m+1), fmt.Sprintf(`%d \pmod{%d}`, r-1, m), fmt.Sprintf(`x \equiv %d \pmod{%d}`, r, m-1))
	s.only = true
	return s
}

// distances are inequalities with an absolute value of a difference.
func distances(d *dice) sample {
	center, radius := d.from(-9, 9), d.from(1, 9)
	inside := fmt.Sprintf("|%s| < %d", sum("+x", term(-center, "")), radius)
	s := a(fmt.Sprintf("(%d, %d)", center-radius, center+radius))
	s.equals(fmt.Sprintf("%d < x < %d", center-radius, center+radius), fmt.Sprintf(`x \in (%d, %d)`, center-radius, center+radius), inside)
	s.misses(fmt.Sprintf("%d < x < %d", center-radius, center+radius+1), fmt.Sprintf(`%d \le x < %d`, center-radius, center+radius),
		strings.Replace(inside, "<", ">", 1), fmt.Sprintf("|%s| < %d", sum("+x", term(-center-1, "")), radius))
	s.only = true
	return s
}

// sumsOfTerms are sums that are left as they are.
func sumsOfTerms(d *dice) sample {
	n, k := d.from(3, 30), d.from(2, 9)
	s := a(fmt.Sprint(k * n * (n + 1) / 2))
	s.equals(fmt.Sprintf(`\sum_{i=1}^{%d} %di`, n, k), fmt.Sprintf(`%d\sum_{j=1}^{%d} j`, k, n), fmt.Sprintf(`%d\cdot\frac{%d\cdot %d}{2}`, k, n, n+1), fmt.Sprintf(`%d\binom{%d}{2}`, k, n+1))
	s.misses(fmt.Sprintf(`\sum_{i=1}^{%d} %di`, n+1, k), fmt.Sprintf(`\sum_{i=2}^{%d} %di`, n, k), fmt.Sprintf(`%d\binom{%d}{2}`, k, n+2), fmt.Sprintf(`\prod_{i=1}^{3} %di`, k+n*n))
	return s
}

// polars are complex numbers by size and angle.
func polars(d *dice) sample {
	n, angle := d.from(2, 20), pick(d, 30, 45, 60, 120, 135, 150, 210, 240, 300, 330)
	s := a(fmt.Sprintf(`%de^{%s i}`, n, radians(angle)))
	s.equals(fmt.Sprintf(`%d(\cos %s + i \sin %s)`, n, radians(angle), radians(angle)), fmt.Sprintf(`%d\left(%s + (%s) i\right)`, n, sine(90-angle), sine(angle)),
		fmt.Sprintf(`%d\operatorname{cis} %d^\circ`, n, angle), fmt.Sprintf(`%de^{%s i}`, n, radians(angle+360)))
	s.misses(fmt.Sprintf(`%de^{%s i}`, n, radians(angle+30)), fmt.Sprintf(`%de^{-%s i}`, n, radians(angle)), fmt.Sprintf(`%d(\cos %s - i \sin %s)`, n, radians(angle), radians(angle)),
		fmt.Sprintf(`%de^{%s}`, n, radians(angle)))
	return s
}
