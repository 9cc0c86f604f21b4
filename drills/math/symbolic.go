package main

import (
	"fmt"
	"slices"
	"strings"
)

// polynomial has coefficients by power.
type polynomial []int

func (p polynomial) times(q polynomial) polynomial {
	product := make(polynomial, len(p)+len(q)-1)
	for i, x := range p {
		for j, y := range q {
			product[i+j] += x * y
		}
	}
	return product
}

// terms writes the terms, the highest power first.
func (p polynomial) terms(v string) []string {
	var terms []string
	for i, c := range slices.Backward(p) {
		if t := term(c, power(v, i)); t != "" {
			terms = append(terms, t)
		}
	}
	return terms
}

func (p polynomial) latex(v string) string { return sum(p.terms(v)...) }

// power is a variable to a power; nothing to the power of 0.
func power(v string, n int) string {
	switch {
	case n == 0:
		return ""
	case n == 1:
		return v
	case n < 10:
		return fmt.Sprintf("%s^%d", v, n)
	}
	return fmt.Sprintf("%s^{%d}", v, n)
}

// horner writes p without powers.
func (p polynomial) horner(v string) string {
	text := fmt.Sprint(p[len(p)-1])
	for _, c := range slices.Backward(p[:len(p)-1]) {
		text = fmt.Sprintf("(%s)%s%+d", text, v, c)
	}
	return text
}

// changed is p with another coefficient at a power.
func (p polynomial) changed(i, by int) polynomial {
	q := slices.Clone(p)
	q[i] += by
	return q
}

var letters = []string{"x", "y", "t", "n", "a", "k", "m", "p"}

func polynomials(d *dice) sample {
	v := pick(d, letters...)
	lead := pick(d, 1, 1, 2, 3, -1)
	p := polynomial{lead}
	factors := ""
	for range d.from(1, 4) {
		factor := polynomial{d.apart(-9, 9, 0), pick(d, 1, 1, 1, 2)}
		p = p.times(factor)
		factors += "(" + factor.latex(v) + ")"
	}
	s := a(p.latex(v))
	s.equals(sum(shuffled(d, p.terms(v))...), strings.Join(p.terms(v), " "), sum(term(lead, factors)),
		fmt.Sprintf(`%d \cdot %s`, lead, factors), p.horner(v), strings.ReplaceAll(s.gold, "^", "^ "), between(d, "(", s.gold, ")"))
	i := d.below(len(p))
	s.misses(p.changed(i, 1).latex(v), p.changed(i, -1).latex(v), p.changed(0, -2*p[0]).latex(v), append(polynomial{0}, p...).latex(v),
		s.gold+"+10^{-9}", s.gold+" = 0", polynomial(p[1:]).latex(v), p.latex(pick(d, "z", "q", "w")), s.gold+"+1")
	if p[i] != 0 {
		s.misses(p.changed(i, -2*p[i]).latex(v))
	}
	return s
}

// bivariates are products of two linear forms in two variables.
func bivariates(d *dice) sample {
	pair := pick(d, [2]string{"x", "y"}, [2]string{"a", "b"}, [2]string{"m", "n"}, [2]string{`\alpha`, `\beta`}, [2]string{"x_1", "x_2"})
	u, v := pair[0], pair[1]
	p, q, r, t := d.apart(-6, 6, 0), d.apart(-6, 6, 0), d.apart(-6, 6, 0), d.apart(-6, 6, 0)
	square := func(z string) string { return fmt.Sprintf("{%s}^2", z) }
	expanded := func(x, y, z int) []string { return []string{term(x, square(u)), term(y, u+" "+v), term(z, square(v))} }
	terms := expanded(p*r, p*t+q*r, q*t)
	s := a(sum(terms...))
	linear := func(x, y int) string { return sum(term(x, u), term(y, v)) }
	s.equals(sum(shuffled(d, terms)...), fmt.Sprintf("(%s)(%s)", linear(p, q), linear(r, t)),
		fmt.Sprintf("(%s)(%s)", linear(r, t), linear(p, q)), fmt.Sprintf("(%s)(%s)", linear(-r, -t), linear(-p, -q)),
		fmt.Sprintf("%d%s(%s)%+d%s(%s)", p, u, linear(r, t), q, v, linear(r, t)),
		sum(term(p*r, square(u)), term(p*t+q*r, v+u), term(q*t, square(v))))
	s.misses(sum(expanded(p*r, p*t+q*r+1, q*t)...), sum(expanded(p*r+1, p*t+q*r, q*t)...), sum(expanded(p*r, p*t+q*r, -q*t)...),
		fmt.Sprintf("(%s)(%s)", linear(p, q), linear(r, t+1)), fmt.Sprintf("(%s)+(%s)", linear(p, q), linear(r, t)),
		sum(expanded(-p*r, -p*t-q*r, -q*t)...), s.gold+" + 10^{-10}")
	if p*t+q*r != 0 {
		s.misses(sum(expanded(p*r, 0, q*t)...), sum(expanded(p*r, -p*t-q*r, q*t)...))
	}
	return s
}

// rationalFunctions are sums of two partial fractions.
func rationalFunctions(d *dice) sample {
	v := pick(d, letters...)
	p := d.apart(-9, 9, 0)
	q := d.apart(-9, 9, 0, p)
	b, c := d.apart(1, 9, 0), d.apart(1, 9, 0)
	at := func(shift int) string { return sum("+"+v, term(shift, "")) }
	top := polynomial{b*q + c*p, b + c}
	bottom := polynomial{p, 1}.times(polynomial{q, 1})
	s := a(fmt.Sprintf(`\frac{%s}{%s}`, top.latex(v), bottom.latex(v)))
	s.equals(fmt.Sprintf(`\frac{%d}{%s}+\frac{%d}{%s}`, b, at(p), c, at(q)), fmt.Sprintf(`\frac{%d}{%s}+\frac{%d}{%s}`, c, at(q), b, at(p)),
		fmt.Sprintf(`\frac{%s}{(%s)(%s)}`, top.latex(v), at(p), at(q)), fmt.Sprintf(`(%s)/(%s)`, top.latex(v), bottom.latex(v)),
		fmt.Sprintf(`\frac{%d(%s)+%d(%s)}{(%s)(%s)}`, b, at(q), c, at(p), at(q), at(p)),
		fmt.Sprintf(`%d(%s)^{-1}+%d(%s)^{-1}`, b, at(p), c, at(q)))
	s.misses(fmt.Sprintf(`\frac{%d}{%s}+\frac{%d}{%s}`, b+1, at(p), c, at(q)),
		fmt.Sprintf(`\frac{%s}{%s}`, top.changed(0, 1).latex(v), bottom.latex(v)),
		fmt.Sprintf(`\frac{%s}{%s}`, top.latex(v), bottom.changed(1, 1).latex(v)),
		fmt.Sprintf(`\frac{%s}{%s}`, bottom.latex(v), top.latex(v)), fmt.Sprintf(`\frac{%d}{%s}-\frac{%d}{%s}`, b, at(p), c, at(q)),
		fmt.Sprintf(`\frac{%d}{%s+%s}`, b+c, at(p), at(q)), top.latex(v))
	if b != c {
		s.misses(fmt.Sprintf(`\frac{%d}{%s}+\frac{%d}{%s}`, c, at(p), b, at(q)))
	}
	return s
}

// laws are expressions that are equal by a law, and others that are not; @ is
// a variable.
var laws = []sample{
	{gold: `\sin 2@`, same: []string{`2\sin @ \cos @`, `\sin(2@)`, `2 \cos(@) \sin(@)`, `\sin @ \cos @ + \cos @ \sin @`}, near: []string{`\sin @ \cos @`, `2 \sin @`, `\cos 2@`, `\sin^2 @`, `\sin @^2`}},
	{gold: `\cos 2@`, same: []string{`\cos^2 @ - \sin^2 @`, `2\cos^2 @ - 1`, `1 - 2\sin^2 @`, `\cos^4 @ - \sin^4 @`}, near: []string{`\sin^2 @ - \cos^2 @`, `2 \cos @`, `1 - 2\cos^2 @`, `\cos^2 @`}},
	{gold: `\sec^2 @`, same: []string{`1 + \tan^2 @`, `\frac{1}{\cos^2 @}`, `(\cos @)^{-2}`}, near: []string{`1 - \tan^2 @`, `\csc^2 @`, `\sec @`, `\tan^2 @`}},
	{gold: `\sqrt{@^2+1}`, same: []string{`(@^2+1)^{1/2}`, `\frac{@^2+1}{\sqrt{@^2+1}}`, `\sqrt{1+@^{2}}`}, near: []string{`@+1`, `\sqrt{@^2-1}`, `\sqrt{@+1}`, `@^2+1`, `-\sqrt{@^2+1}`}},
	{gold: `e^{2@}-1`, same: []string{`(e^{@}-1)(e^{@}+1)`, `-1+e^{2@}`, `(e^{@})^2-1`, `e^{@} \cdot e^{@} - 1`}, near: []string{`e^{2@}+1`, `(e^{@}-1)^2`, `e^{2@-1}`, `2e^{@}-1`, `e^{@^2}-1`}},
	{gold: `\frac{1}{@(@+1)}`, same: []string{`\frac{1}{@}-\frac{1}{@+1}`, `\frac{1}{@^2+@}`, `(@^2+@)^{-1}`}, near: []string{`\frac{1}{@}+\frac{1}{@+1}`, `\frac{1}{@^2+1}`, `\frac{1}{@(@-1)}`, `\frac{1}{@+1}-\frac{1}{@}`, `@(@+1)`}},
	{gold: `\frac{@(@+1)}{2}`, same: []string{`\frac{@^2+@}{2}`, `\binom{@+1}{2}`, `\frac{1}{2}@(@+1)`, `@(@+1)/2`, `0.5@(@+1)`}, near: []string{`\frac{@(@-1)}{2}`, `\binom{@}{2}`, `@(@+1)`, `\frac{@+1}{2}`, `\frac{@^2+1}{2}`}},
	{gold: `\frac{@^3-8}{@-2}`, same: []string{`@^2+2@+4`, `\frac{8-@^3}{2-@}`}, near: []string{`@^2-2@+4`, `@^2+4@+4`, `@^2+4`, `(@-2)^2`}},
	{gold: `\ln(@^2+1)-\ln 2`, same: []string{`\ln\frac{@^2+1}{2}`, `\ln\left(\frac{@^2+1}{2}\right)`, `-\ln 2+\ln(1+@^2)`, `\ln \left( \frac{@^2}{2} + \frac12 \right)`}, near: []string{`\ln(@^2+1)+\ln 2`, `\ln(@^2-1)`, `\frac{\ln(@^2+1)}{2}`, `\frac{\ln(@^2+1)}{\ln 2}`}},
	{gold: `@^{\frac{3}{2}}`, same: []string{`@\sqrt{@}`, `@^{3/2}`, `@^{1.5}`}, near: []string{`@^{\frac{2}{3}}`, `\sqrt{@}`, `@^{-3/2}`, `\frac{3}{2}@`, `\sqrt[3]{@^2}`}},
	{gold: `2^{@}3^{@}`, same: []string{`6^{@}`, `2^{@} \cdot 3^{@}`, `\left(2 \cdot 3\right)^{@}`}, near: []string{`5^{@}`, `6^{2@}`, `6@`, `2^{@}+3^{@}`}},
	{gold: `|@-3|`, same: []string{`\left|@-3\right|`, `|3-@|`, `\lvert @-3 \rvert`}, near: []string{`|@+3|`, `@-3`, `|@|-3`, `-|@-3|`, `3-@`}},
}

func identities(d *dice) sample {
	law := pick(d, laws...)
	k, v := d.from(1, 9), pick(d, "x", "t", "y", `\theta`, `\alpha`, "n", "{x}")
	write := func(forms []string) []string {
		var written []string
		for _, form := range forms {
			form = strings.ReplaceAll(form, "@", v)
			if k > 1 {
				form = fmt.Sprintf(`%d%s`, k, between(d, "(", form, ")"))
			}
			written = append(written, form)
		}
		return written
	}
	return sample{gold: write([]string{law.gold})[0], same: write(law.same), near: write(law.near)}
}
