package maths_test

import (
	"fmt"
	"math/big"
	"strings"
)

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

// tree is an expression: a number, a letter, or an operation on two others.
type tree struct {
	op          byte // one of + - * / ^, x for a letter, 0 for a number
	n           int  // the number, or the power
	letter      string
	left, right *tree
}

func leaf(n int) *tree { return &tree{n: n} }

func join(op byte, left, right *tree) *tree { return &tree{op: op, left: left, right: right} }

// grown is a random expression.
func grown(d *dice, depth int, letters []string) *tree {
	if depth == 0 {
		if len(letters) > 0 && d.chance(0.7) {
			return &tree{op: 'x', letter: pick(d, letters...)}
		}
		return leaf(d.from(1, 12))
	}
	if d.chance(0.15) {
		return &tree{op: '^', n: d.from(2, 3), left: grown(d, depth-1, letters)}
	}
	return join(pick(d, byte('+'), '+', '-', '*', '*', '/'), grown(d, depth-1, letters), grown(d, pick(d, 0, depth-1), letters))
}

// value is what the expression is at a point; false if it divides by zero.
func (t *tree) value(at map[string]*big.Rat) (*big.Rat, bool) {
	switch t.op {
	case 0:
		return big.NewRat(int64(t.n), 1), true
	case 'x':
		return at[t.letter], true
	case '^':
		base, ok := t.left.value(at)
		power := big.NewRat(1, 1)
		for range t.n {
			power.Mul(power, base)
		}
		return power, ok
	}
	x, left := t.left.value(at)
	y, right := t.right.value(at)
	if !left || !right || t.op == '/' && y.Sign() == 0 {
		return new(big.Rat), false
	}
	switch t.op {
	case '+':
		return new(big.Rat).Add(x, y), true
	case '-':
		return new(big.Rat).Sub(x, y), true
	case '*':
		return new(big.Rat).Mul(x, y), true
	}
	return new(big.Rat).Quo(x, y), true
}

// values are those at several points; "" if it divides by zero.
func (t *tree) values(at []map[string]*big.Rat) string {
	text := ""
	for _, p := range at {
		v, ok := t.value(p)
		if !ok {
			return ""
		}
		text += v.String() + " "
	}
	return text
}

// rewritten is an expression of the same value: sides are exchanged, products
// multiplied out, fractions extended.
func (t *tree) rewritten(d *dice) *tree {
	if t.left == nil {
		if t.op == 0 && d.chance(0.2) {
			k := d.from(1, 5)
			return join('-', leaf(t.n+k), leaf(k))
		}
		return t
	}
	left := t.left.rewritten(d)
	if t.op == '^' {
		if t.n == 2 && d.chance(0.3) {
			return join('*', left, left)
		}
		return &tree{op: '^', n: t.n, left: left}
	}
	right := t.right.rewritten(d)
	switch same := d.chance(0.4); {
	case same:
	case t.op == '+' || t.op == '*' && t.right.op != '+':
		return join(t.op, right, left)
	case t.op == '*': // a sum, which stays one
		return join('+', join('*', left, right.left), join('*', left, right.right))
	case t.op == '-':
		return join('*', leaf(-1), join('-', right, left))
	case t.op == '/':
		k := leaf(d.from(2, 5))
		return join('/', join('*', k, left), join('*', right, k))
	}
	return join(t.op, left, right)
}

// spoilt is the expression with another leaf or operation somewhere.
func (t *tree) spoilt(d *dice, letters []string) *tree {
	switch c := *t; {
	case t.left == nil:
		return leaf(t.n + d.from(1, 3))
	case t.op == '^':
		c.left = t.left.spoilt(d, letters)
		return &c
	case d.chance(0.3):
		c.op = map[byte]byte{'+': '-', '-': '+', '*': '+', '/': '*'}[t.op]
		return &c
	case d.chance(0.5):
		c.left = t.left.spoilt(d, letters)
		return &c
	default:
		c.right = t.right.spoilt(d, letters)
		return &c
	}
}

// latex writes the expression, in parentheses where it must be.
func (t *tree) latex(d *dice) string {
	inside := func(u *tree, needs bool) string {
		if needs {
			return between(d, "(", u.latex(d), ")")
		}
		return u.latex(d)
	}
	additive := func(u *tree) bool { return u.op == '+' || u.op == '-' || u.op == 0 && u.n < 0 }
	switch t.op {
	case 0:
		return fmt.Sprint(t.n)
	case 'x':
		return t.letter
	case '^':
		return fmt.Sprintf("%s^{%d}", inside(t.left, t.left.left != nil || t.left.n < 0), t.n)
	case '+':
		return t.left.latex(d) + "+" + inside(t.right, t.right.op == 0 && t.right.n < 0 || t.right.leftmost().n < 0)
	case '-':
		return t.left.latex(d) + "-" + inside(t.right, additive(t.right) || t.right.leftmost().n < 0)
	case '*':
		return inside(t.left, additive(t.left)) + pick(d, ` \cdot `, ` \cdot `, ` \times `, "*") + inside(t.right, additive(t.right) || t.right.leftmost().n < 0)
	}
	return pick(d, `\frac`, `\frac`, `\dfrac`) + "{" + t.left.latex(d) + "}{" + t.right.latex(d) + "}"
}

// leftmost is the leaf that is written first.
func (t *tree) leftmost() *tree {
	for t.left != nil && t.op != '/' {
		t = t.left
	}
	return t
}

// expressions are random ones, of two letters or of numbers only, in several
// ways that are shown to have the same value or another.
func expressions(d *dice) sample {
	letters := pick(d, []string{"x", "y"}, []string{"a", "b"}, []string{"n"}, nil)
	// Two points tell expressions of this size apart: two that are different agree at a random
	// one of a hundred million in less than one case of a million (Schwartz and Zippel).
	at := []map[string]*big.Rat{{}, {}}
	for _, point := range at {
		for _, v := range letters {
			point[v] = big.NewRat(int64(d.from(1, 1e8)), 1)
		}
	}
	for {
		t := grown(d, 3, letters)
		value := t.values(at)
		if len(value) == 0 || len(value) > 400 {
			continue // divides by zero, or is of a high degree
		}
		s := a(t.latex(d))
		if v, _ := t.value(at[0]); letters == nil {
			s.equals(fraction(v))
		}
		for range 4 {
			if u := t.rewritten(d).rewritten(d); u.values(at) == value {
				s.equals(u.latex(d))
			}
			if u := t.spoilt(d, letters).rewritten(d); u.values(at) != value && u.values(at) != "" {
				s.misses(u.latex(d))
			}
		}
		if len(s.same) > 0 && len(s.near) > 0 {
			return s
		}
	}
}
