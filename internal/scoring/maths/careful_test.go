package maths_test

import (
	"fmt"
	"strings"
	"testing"
)

// careful are kinds of answers of which version 2 took wrong ones for right, or did not
// know the right ones: sets of numbers, small terms, functions that are given piece by
// piece, and other ways to write a set, a congruence or a function.
var careful = []row{
	{kind: "number set", draw: `a = -9..9 ; v = x | t | y ; s = Z | Q | N | C ; w = integer | rational number`, gold: `(«a»,\infty)`,
		same: []string{`«v»>«a», «v»\in\mathbb{R}`, `\{«v»\in\mathbb{R} : «v»>«a»\}`, `\{«v» \mid «v»>«a»\}`, `«v»>«a»`, `«v» > «a» \text{ where } «v» \in \mathbb R`},
		near: []string{`«v»>«a», «v»\in\mathbb{«s»}`, `\{«v»\in\mathbb{«s»} : «v»>«a»\}`, `\{«v» \mid «v»>«a», «v»\in\mathbb{«s»}\}`, `«v»>«a»\text{ and }«v»\in\mathbb{«s»}`,
			`(«a»,\infty)\cap\mathbb{«s»}`, `«v»>«a» \text{ where } «v» \text{ is an } \text{«w»}`, `«v» > «a», «v» \text{ «w»}`}},
	{kind: "number set", draw: `a = -9..9 ; b = a+5 ; c = b-1 ; v = n | x | m`, gold: `\{n\in\mathbb{Z} : «a»<n<«b»\}`,
		same: []string{`\{«a+1»,«a+2»,«a+3»,«a+4»\}`, `«a»<«v»<«b», «v»\in\mathbb{Z}`, `\{«v»\in\mathbb{Z} \mid «a+1»\le «v»\le «c»\}`, `[«a+1»,«c»]\cap\mathbb{Z}`, `«a+4», «a+2», «a+3», «a+1»`},
		near: []string{`(«a»,«b»)`, `«a»<«v»<«b»`, `\{«a+1»,«a+2»,«a+3»\}`, `\{«v»\in\mathbb{Z} : «a»<«v»\le «b»\}`, `\{«v»\in\mathbb{R} : «a»<«v»<«b»\}`, `\{«v»\in\mathbb{Q} : «a»<«v»<«b»\}`, `[«a+1»,«c»]`}},
	{kind: "number set", draw: `a = 1..9 ; v = n | x | m`, gold: `\{n\in\mathbb{Z} : n>«a»\}`,
		same: []string{`«v»>«a», «v»\in\mathbb{Z}`, `\{«v»\in\mathbb{Z} \mid «v»\ge«a+1»\}`, `\{«v»\in\mathbb{N} : «v»>«a»\}`, `(«a»,\infty)\cap\mathbb{Z}`, `«v»\ge«a+1», «v» \text{ an integer}`},
		near: []string{`«v»>«a»`, `«v»\ge«a», «v»\in\mathbb{Z}`, `(«a»,\infty)`, `\{«v»\in\mathbb{R} : «v»>«a»\}`, `[«a+1»,\infty)`, `\mathbb{Z}^+`}},
	{kind: "number set", draw: `q = 3..9 ; p = k | n | m ; s = \mathbb{N} | \mathbb{R} | \mathbb{Q} | \mathbb{Z}^+ | \mathbb{Z}_{\ge0} ; x = | x=`, gold: `«x»\frac{\pi}{«q»}+k\pi, k\in\mathbb{Z}`,
		same: []string{`«x»\frac{\pi}{«q»}+«p»\pi, «p»\in\mathbb{Z}`, `«x»\frac{«q+1»\pi}{«q»}+«p»\pi, «p»\in\mathbb{Z}`, `«x»\frac{\pi}{«q»}-«p»\pi \text{ where } «p» \text{ is an integer}`, `\left\{\frac{\pi}{«q»}+\pi «p» : «p»\in\mathbb{Z}\right\}`},
		near: []string{`«x»\frac{\pi}{«q»}+«p»\pi, «p»\in«s»`, `«x»\frac{\pi}{«q»}+2«p»\pi, «p»\in\mathbb{Z}`, `«x»\frac{\pi}{«q+1»}+«p»\pi, «p»\in\mathbb{Z}`, `«x»\frac{\pi}{«q»}`}},

	{kind: "small term", draw: `n = 20..400 ; k = 2..9 ; p = 3 | 4 | 5`, gold: `\sqrt{10^{«2*n»}+«k»}`,
		same: []string{`\sqrt{«k»+10^{«2*n»}}`, `\frac{1}{«k»}\sqrt{«k*k»\cdot 10^{«2*n»}+«k*k*k»}`}, near: []string{`10^{«n»}`, `\sqrt{10^{«2*n»}+«k+1»}`, `10^{«n»}+10^{-«n»}`}},
	{kind: "small term", draw: `n = 20..400 ; c = \pi | e | \sqrt{2} | \frac{1}{3} | 1 | \ln 2 | \sin 1 ; s = + | -`, gold: `«c»«s»10^{-«n»}`,
		same: []string{`«s»\frac{1}{10^{«n»}}+«c»`, `\frac{10^{«n»}\cdot «c»«s»1}{10^{«n»}}`}, near: []string{`«c»`, `«c»«s»10^{-«n+1»}`, `«c»\left(1«s»10^{-«n»}\right)+10^{-«n»}`}},
	{kind: "small term", draw: `n = 150..2000 ; k = 1..9`, gold: `«k»-e^{-«n»}`,
		same: []string{`«k»-\frac{1}{e^{«n»}}`, `\frac{«k»e^{«n»}-1}{e^{«n»}}`}, near: []string{`«k»`, `«k»+e^{-«n»}`, `«k»-e^{-«n+1»}`, `«k»\tanh(«n»)`}},
	{kind: "small term", draw: `n = 40..150 ; k = 2..5 ; m = k*k-1 ; w = «k»+\sqrt{«m»} ; u = «k»-\sqrt{«m»}`, gold: `\frac{(«w»)^{«n»}+(«u»)^{«n»}}{2}`,
		same: []string{`\frac12\left((«u»)^{«n»}+(«w»)^{«n»}\right)`, `\frac{(«w»)^{«n»}+(«w»)^{-«n»}}{2}`}, near: []string{`\frac{(«w»)^{«n»}}{2}`, `\frac{(«w»)^{«n»}-(«u»)^{«n»}}{2}`}},
	{kind: "small term", draw: `n = 30..400 ; f = x | x^2 | \sin x | e^x | n | \sqrt{x} | \ln x ; y = | y= | f(x)=`, gold: `«y»«f»+10^{-«n»}`,
		same: []string{`«y»10^{-«n»}+«f»`, `«y»\frac{10^{«n»}\cdot «f»+1}{10^{«n»}}`}, near: []string{`«y»«f»`, `«y»«f»+10^{-«n+1»}`, `«y»«f»\left(1+10^{-«n»}\right)`}},
	{kind: "small term", draw: `n = 50..300 ; b = 2 | 10 ; k = 1..9`, gold: `\log_{«b»}(«b»^{«n»}+«k»)`, same: []string{`\frac{\ln(«b»^{«n»}+«k»)}{\ln «b»}`}, near: []string{`«n»`, `\log_{«b»}(«b»^{«n»}+«k+1»)`}},

	{kind: "pieces", draw: `c = 21..99999 ; v = x | n | t | a ; y = | y= | f(«v»)=`, gold: `«y»|«v»-«c»|`,
		same: []string{`«y»|«c»-«v»|`, `«y»\sqrt{(«v»-«c»)^2}`, `«y»\sqrt{«v»^2-«2*c»«v»+«c*c»}`, `«y»\max(«v»-«c»,«c»-«v»)`}, near: []string{`«y»«v»-«c»`, `«y»«c»-«v»`, `«y»|«v»+«c»|`, `«y»|«v»|-«c»`, `«y»|«v»-«c+1»|`}},
	{kind: "pieces", draw: `q = 2..40 ; v = n | m | k`, gold: `\left\lceil\frac{«v»}{«q»}\right\rceil`,
		same: []string{`\left\lfloor\frac{«v»+«q-1»}{«q»}\right\rfloor`, `-\left\lfloor-\frac{«v»}{«q»}\right\rfloor`, `\left\lfloor\frac{«v»-1}{«q»}\right\rfloor+1`}, near: []string{`\left\lfloor\frac{«v»}{«q»}\right\rfloor+1`, `\left\lfloor\frac{«v»+«q»}{«q»}\right\rfloor`, `\left\lceil\frac{«v»+1}{«q»}\right\rceil`, `\frac{«v»}{«q»}`}},
	{kind: "pieces", draw: `q = 2..9 ; k = 2..5`, gold: `\lfloor «k»x\rfloor`, near: []string{`«k»\lfloor x\rfloor`, `«k»x`, `\lceil «k»x\rceil-1`, `\lfloor «k»x+\frac{1}{«10*k»}\rfloor`, `\lfloor «k+1»x\rfloor`},
		same: []string{`\lfloor «k»x+«q»\rfloor-«q»`, `-\lceil -«k»x\rceil`, `«k==2?»\lfloor x\rfloor+\lfloor x+\frac12\rfloor`, `«k==3?»\lfloor x\rfloor+\lfloor x+\frac13\rfloor+\lfloor x+\frac23\rfloor`}},
	{kind: "pieces", draw: `k = 1..4 ; d = 2*k ; c = -9..9`, gold: `\sqrt[«d»]{(x-«c+20»)^{«d»}}`, same: []string{`|x-«c+20»|`, `|«c+20»-x|`}, near: []string{`x-«c+20»`, `«c+20»-x`, `(x-«c+20»)^2`}},
	{kind: "pieces", draw: `k = 1..9 ; m = 2*k`, gold: `\sqrt{x^{«m»}y}`, same: []string{`|x|^{«k»}\sqrt{y}`, `|x^{«k»}|\sqrt{y}`, `«k%2==0?»x^{«k»}\sqrt{y}`}, near: []string{`«k%2==1?»x^{«k»}\sqrt{y}`, `x^{«k+1»}\sqrt{y}`, `|x|^{«k»}y`}},
	{kind: "pieces", draw: `b = 2 | 3 | 10`, gold: `\lceil\log_{«b»}(n+1)\rceil`, same: []string{`\lfloor\log_{«b»} n\rfloor+1`}, near: []string{`\lceil\log_{«b»} n\rceil`, `\lceil\log_{«b»} n\rceil+1`, `\lfloor\log_{«b»}(n+1)\rfloor`}},
	{kind: "pieces", draw: `a = 1..30 ; b = a+5 ; b = b+1`, gold: `|x^2-«a+b»x+«a*b»|`, same: []string{`|x-«a»|\cdot|x-«b»|`, `|(x-«a»)(«b»-x)|`}, near: []string{`x^2-«a+b»x+«a*b»`, `(x-«a»)(«b»-x)`, `|x-«a»|+|x-«b»|`}},
	{kind: "pieces", draw: `a = 1..20 ; c = a*a`, gold: `|x^2+«2*a»x+«c+1»|`, same: []string{`x^2+«2*a»x+«c+1»`, `(x+«a»)^2+1`}, near: []string{`x^2+«2*a»x+«c»`, `(x+«a»)^2-1`, `-|x^2+«2*a»x+«c+1»|`}},

	{kind: "pieces", draw: `c = -150..200 ; v = x | t | a`, gold: `|\ln «v»-(«c»)|`, same: []string{`|«c»-\ln «v»|`, `\sqrt{(\ln «v»-(«c»))^2}`}, near: []string{`\ln «v»-(«c»)`, `«c»-\ln «v»`}},
	{kind: "pieces", draw: `k = 17..60 ; c = 1..9`, gold: `\binom{n}{«k»}+«c»`, same: []string{`«c»+\binom{n}{«k»}`}, near: []string{`«c»`, `\binom{n}{«k+1»}+«c»`}},

	{kind: "shape of a set", draw: `a = -9..9 ; b = -9..9 not a ; x = x | a ; y = y | b`, gold: `(«x»,«y»)=(«a»,«b»)`,
		same: []string{`«x»=«a», «y»=«b»`, `«y»=«b», «x»=«a»`, `(«y»,«x»)=(«b»,«a»)`}, near: []string{`(«y»,«x»)=(«a»,«b»)`, `(«x»,z)=(«a»,«b»)`, `(«x»,«y»)=(«b»,«a»)`}},
	{kind: "shape of a set", draw: `a = 1..99 ; b = 0..99`, gold: `«a»,0«padded(b,2)»`, same: []string{`«1000*a+b»`, `«a»{,}0«padded(b,2)»`}, near: []string{`«a»,«b»`, `«a», «b»`, `«a»0«padded(b,2)»1`}},
	{kind: "shape of a set", draw: `a = -9..9 ; b = a+1..15 not a ; c = b+1..30 not b ; o = ( | [ ; s = ) | ]`, gold: `«o»«a»,«b»)\cup(«b»,«c»«s»`,
		same: []string{`(«b»,«c»«s»\cup«o»«a»,«b»)`, `«o»«a»,«c»«s»\setminus\{«b»\}`, `x\in«o»«a»,«b»)\cup(«b»,«c»«s»`},
		near: []string{`«o»«a»,«c»«s»`, `«o»«a»,«b»]\cup(«b»,«c»«s»`, `«o»«a»,«b»)`, `«o=="["?»[«a»,«c»«s»\setminus\{«a»,«b»\}`}},
	{kind: "shape of a set", draw: `a = -9..9 ; b = a+1..15 not a ; c = b+1..30 not b`, gold: `[«a»,«c»]`,
		same: []string{`[«a»,«b»]\cup(«b»,«c»]`, `[«a»,«b»]\cup[«b»,«c»]`, `[«a»,«c»)\cup\{«c»\}`, `(-\infty,«c»]\cap[«a»,\infty)`, `\mathbb{R}\setminus((-\infty,«a»)\cup(«c»,\infty))`, `[«a»,«c+1»]\setminus(«c»,«c+1»]`},
		near: []string{`[«a»,«b»)\cup(«b»,«c»]`, `(«a»,«c»]`, `[«a»,«c»]\setminus\{«b»\}`, `(-\infty,«c»)\cap[«a»,\infty)`, `[«a»,«b»]\cap[«b»,«c»]`}},
	{kind: "shape of a set", draw: `m = 3..30 ; r = 0..m-1 ; k = -3..3 not 0 ; v = n | x | a`, gold: `«v»\equiv «r»\pmod{«m»}`,
		same: []string{`«v»\equiv «r+k*m»\pmod{«m»}`, `«v»\equiv «r+m» \pmod «m»`, `«v»\equiv «r» \ (\text{mod } «m»)`, `«v»=«m»k+«r», k\in\mathbb{Z}`},
		near: []string{`«v»\equiv «r+1»\pmod{«m»}`, `«v»\equiv «r»\pmod{«m+1»}`, `«v»\equiv «r»\pmod{«2*m»}`, `«v»=«r»`, `«v»=«m»k+«r», k\in\mathbb{N}`, `«m-r»\pmod{«m+1»}`}},
	{kind: "shape of a set", draw: `a = 1..9 ; b = -9..9 not 0 ; f = f | g | h | P ; v = x | u | y ; w = t | s | z`, gold: `«f»(«v»)=«a»«v»^2«signed(b)»`,
		same: []string{`«f»(«w»)=«a»«w»^2«signed(b)»`, `«f»(«w»)=«b»+«a»«w»^2`}, near: []string{`«f»(«w»)=«a»«v»^2«signed(b)»`, `«f»(«w»)=«a»«w»^2«signed(-b)»`, `q(«w»)=«a»«w»^2«signed(b)»`, `«f»(«w»)=«a+1»«w»^2«signed(b)»`}},
	{kind: "shape of a set", draw: `a = 2..9 ; b = 1..a-1 ; p = k | m | n ; q = j | t | s`, gold: `\{«a»«p»+«b» : «p»\in\mathbb{Z}\}`,
		same: []string{`\{«a»«q»+«b» \mid «q»\in\mathbb{Z}\}`, `\{«a»«q»-«a-b» : «q»\in\mathbb{Z}\}`, `x\equiv «b» \pmod{«a»}`}, near: []string{`\{«a»«q»+«b+1» : «q»\in\mathbb{Z}\}`, `\{«a+1»«q»+«b» : «q»\in\mathbb{Z}\}`, `\{«a»«q»+«b» : «q»\in\mathbb{R}\}`, `\{«a»«q»+«b» : «p»\in\mathbb{Z}\}`}},
}

// TestSpaces has no-break spaces and announcements on a line of their own.
func TestSpaces(t *testing.T) {
	for _, gold := range []string{"7", "(1,2)", `x+1`, `12\text{ cm}`, `\{x\in\mathbb{R} : x>3\}`} {
		for _, prediction := range []string{"Final Answer\n" + gold, "**Final Answer**\n\n$" + gold + "$", `\boxed{` + strings.ReplaceAll(gold, " ", "\u00a0") + "\u00a0}"} {
			if v := check(gold, prediction); !v.Correct() {
				t.Errorf("%q is not %s: %+v", prediction, gold, v)
			}
		}
	}
}

// TestSolved has equations and inequalities as right answers, which an answer solves; one
// that is not solved answers no question for the solution.
func TestSolved(t *testing.T) {
	for a := -6; a <= 6; a++ {
		for b := a + 1; b <= 6; b++ {
			equation := fmt.Sprintf("x^2%+dx%+d=0", -a-b, a*b)
			inequality := fmt.Sprintf("x^2%+dx%+d<0", -a-b, a*b)
			for solution, right := range map[string]bool{
				fmt.Sprintf(`x=%d \text{ or } x=%d`, b, a): true, fmt.Sprintf(`x\in\{%d,%d\}`, a, b): true, fmt.Sprintf(`\{%d,%d\}`, a, b): true,
				fmt.Sprintf("x=%d", a): false, fmt.Sprintf(`x=%d \text{ or } x=%d`, a, b+1): false, fmt.Sprintf("x=%d, x=%d, x=%d", a, b, b+1): false, fmt.Sprintf("[%d,%d]", a, b): false,
			} {
				if check(equation, solution).Correct() != right {
					t.Errorf("%s for %s is not %v", solution, equation, right)
				}
			}
			for solution, right := range map[string]bool{
				fmt.Sprintf("(%d,%d)", a, b): true, fmt.Sprintf("%d<x<%d", a, b): true, fmt.Sprintf("[%d,%d]", a, b): false, fmt.Sprintf("%d<x<%d", a, b+1): false, fmt.Sprintf(`\{%d,%d\}`, a, b): false,
			} {
				if check(inequality, solution).Correct() != right {
					t.Errorf("%s for %s is not %v", solution, inequality, right)
				}
			}
			if set := fmt.Sprintf(`\{%d,%d\}`, a, b); check(set, equation).Correct() {
				t.Errorf("%s answers %s", equation, set)
			}
		}
	}
}
