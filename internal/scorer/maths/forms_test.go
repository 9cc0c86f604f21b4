package maths_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"speceval/internal/scorer/maths"
)

// TestForms writes random expressions in two ways each, which must be equal,
// and then changes one of them a little.
func TestForms(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		p := grown(r, 3)
		one, two := p.written(r), p.written(r)
		for _, prediction := range []string{two, "$" + two + "$", `\boxed{` + two + `}`, `\[` + two + `\]`, "The answer is $" + two + "$."} {
			if !maths.Check(one, prediction).Correct() {
				t.Fatalf("%s is not %s", one, prediction)
			}
		}
		for _, prediction := range []string{two + `+\frac{1}{1000}`, "1-(" + two + ")(1+10^{-9})", "(" + two + ", 0)", `\{` + two + `, ` + two + `+1\}`, "x>" + two, `\pm(` + two + ")"} {
			if maths.Check(one, prediction).Correct() {
				t.Fatalf("%s is %s", one, prediction)
			}
		}
	}
}

// tree is an expression: a sum, a product or a quotient of two, a root or a
// power of one, a number or a variable.
type tree struct {
	kind        byte
	left, right *tree
	n           int
}

func grown(r *rand.Rand, depth int) *tree {
	if depth == 0 {
		return &tree{kind: "nnxp"[r.IntN(4)], n: r.IntN(12) + 1}
	}
	return &tree{kind: "+*/r^"[r.IntN(5)], left: grown(r, depth-1), right: grown(r, depth-1), n: r.IntN(3) + 1}
}

// written is the tree in LaTeX, in one of many ways.
func (p *tree) written(r *rand.Rand) string {
	pick := func(forms ...string) string { return forms[r.IntN(len(forms))] }
	switch p.kind {
	case 'n':
		n := fmt.Sprint(p.n)
		return pick(n, "{"+n+"}", n+".0", fmt.Sprintf(`\frac{%d}{2}`, 2*p.n), fmt.Sprintf("(%d-3)", p.n+3))
	case 'x':
		return pick("x", "{x}", "(x)", `x^{1}`)
	case 'p':
		return pick(`\pi`, `{\pi}`, `\frac{2\pi}{2}`, "π")
	}
	a, b := p.left.written(r), p.right.written(r)
	open, shut := pick("(", `\left(`, `\bigl(`), ")"
	if open == `\left(` {
		shut = `\right)`
	} else if open == `\bigl(` {
		shut = `\bigr)`
	}
	inA, inB := open+a+shut, open+b+shut
	switch p.kind {
	case '+':
		return pick(inA+"+"+inB, b+" + "+a, inB+`-(-1)\cdot `+inA)
	case '*':
		return pick(inA+inB, inB+`\cdot`+inA, inA+` \times `+inB, inA+"*"+inB)
	case '/':
		return pick(`\frac{`+a+`}{`+inB+`}`, inA+"/"+inB, `\dfrac{`+inA+`}{`+b+`}`, inA+` \cdot `+inB+`^{-1}`)
	case 'r':
		return pick(`\sqrt{`+a+`}`, inA+`^{1/2}`, inA+`^{\frac{1}{2}}`, `\sqrt[2]{`+a+`}`)
	}
	return pick(fmt.Sprintf("%s^{%d}", inA, p.n), fmt.Sprintf("{%s}^%d", inA, p.n), fmt.Sprintf(`\left(%s\right)^{%d}`, a, p.n))
}
