package latex_test

import (
	"fmt"
	"strings"
	"testing"

	"speceval/internal/scoring/maths/algebra"
	"speceval/internal/scoring/maths/latex"
)

var seeds = []string{
	`\frac{1}{2}`, `\{1,2,3\}`, `(-\infty,3]\cup[4,5)`, `\begin{pmatrix}1&2\\3&4\end{pmatrix}`, `x=5 \text{ or } x=-6`,
	`12\text{ m/s}^2`, `1{,}000`, `0.1\overline{6}`, `3 2/5`, `\sqrt[3]{2}\pm i`, `f(x)=x^2`, `\sin^{-1} x!`, `|x|+||y||`, `2516_{8}`, `3:30 p.m.`, `½π²`, `\boxed{\left\{`, "\x00\xff",
}

func FuzzRead(f *testing.F) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, ok := latex.Read(text)
		if b, again := latex.Read(text); ok != again || ok && a.Kind != b.Kind {
			t.Fatalf("%q is read differently the second time", text)
		}
		latex.ReadCommas(text)
	})
}

// show writes an answer in a form for tests: operators before their arguments.
func show(a latex.Answer) string {
	var items []string
	for i, item := range a.Items {
		if i > 0 && i <= len(a.Rels) {
			items = append(items, a.Rels[i-1])
		}
		items = append(items, show(item))
	}
	list := strings.Join(items, " ")
	if m := a.Modulus; m != nil {
		a.Modulus = nil
		return show(a) + "mod " + formula(m)
	}
	switch a.Kind {
	case latex.Builder:
		return "set(" + list + ")"
	case latex.Value:
		text := formula(a.Expr)
		if a.Percent {
			text += "%"
		}
		if a.Unit != "" {
			text += "[" + a.Unit + "]"
		}
		return text
	case latex.Words:
		return `"` + a.Text + `"`
	case latex.Tuple:
		return fmt.Sprintf("%c%s%c", a.Open, list, a.Close)
	case latex.Matrix:
		return fmt.Sprintf("matrix%d(%s)", a.Columns, list)
	case latex.Set:
		return "{" + list + "}"
	case latex.Union:
		return a.Op + "(" + list + ")"
	case latex.Ratio:
		return "ratio(" + list + ")" + a.Unit
	case latex.List:
		return "list(" + list + ")"
	}
	return "<" + list + ">"
}

func formula(e *algebra.Expr) string {
	names := map[algebra.Op]string{algebra.Add: "+", algebra.Mul: "*", algebra.Div: "/", algebra.Pow: "^", algebra.Neg: "-"}
	switch e.Op {
	case algebra.Number:
		return e.Num.RatString()
	case algebra.Symbol:
		return e.Name
	case algebra.Pi:
		return "π"
	case algebra.Euler:
		return "e"
	case algebra.Imaginary:
		return "i"
	case algebra.Infinity:
		return "∞"
	}
	name := names[e.Op]
	if e.Op == algebra.Call {
		name = e.Name
	}
	for _, arg := range e.Args {
		name += " " + formula(arg)
	}
	return "(" + name + ")"
}

func TestRead(t *testing.T) {
	for text, want := range map[string]string{
		// numbers
		`033`: "33", `.5`: "1/2", `17.`: "17", `58,500`: "58500", `1{,}000`: "1000", `1\,000`: "1000", `10 000`: "10000", `11,\! 111,\! 100`: "11111100",
		`1,234.5`: "2469/2", `−5`: "(- 5)", `+5`: "5", `1.5e3`: "1500", `1.5 \times 10^{3}`: "(* 3/2 (^ 10 3))", `0.1\overline{6}`: "1/6", `2{.}75`: "11/4",
		`1,2`: "list(1 2)", `1,23,456`: "list(1 23 456)", `(1,234)`: "(1 234)", `\frac{1,000}{3}`: "(/ 1000 3)", `2516_8`: "2516_8", `{2516}_{8}`: "2516_8",
		`1\frac{1}{2}`: "(+ 1 (/ 1 2))", `1 1/2`: "(+ 1 (/ 1 2))", `2\frac{x}{3}`: "(* 2 (/ x 3))", `3\frac{5}{2}`: "(* 3 (/ 5 2))",
		// fractions, roots, powers
		`\frac59`: "(/ 5 9)", `\frac 59`: "(/ 5 9)", `\dfrac{5}9`: "(/ 5 9)", `\frac1{72}`: "(/ 1 72)", `5/9`: "(/ 5 9)", `5 \over 9`: "(/ 5 9)", `8 \choose 3`: "(binom 8 3)",
		`\sqrt3`: "(sqrt 3)", `\sqrt[3]{x}`: "(root x 3)", `√5`: "(sqrt 5)", `sqrt(2)/2`: "(/ (sqrt 2) 2)", `x²`: "(^ x 2)", `x^{-1}`: "(^ x (- 1))", `x^10`: "(^ x 10)", `2**3`: "(^ 2 3)",
		`a/b/c`: "(/ (/ a b) c)", `-x^2`: "(- (^ x 2))", `2x3`: "(* 2 x 3)", `n!`: "(factorial n)", `3 5`: "", `x^2^3`: "",
		// functions
		`\sin^2 x`: "(^ (sin x) 2)", `\sin^{-1} x`: "(arcsin x)", `\sin 2x\cos x`: "(* (sin (* 2 x)) (cos x))", `\log_2 8`: "(log 8 2)", `\ln(x)y`: "(* (ln x) y)", `\cos x^2`: "(cos (^ x 2))",
		`\sin 30^\circ`: "(sin (degrees 30))", `f(x)`: "f(x)", `x(y+1)`: "(* x (+ y 1))", `|x|+|y|`: "(+ (abs x) (abs y))", `\left|\frac{-1}{2}\right|`: "(abs (/ (- 1) 2))", `\lfloor x\rfloor`: "(floor x)",
		`2pi`: "(* 2 π)", `e^{i\pi}`: "(^ e (* i π))", `\infty`: "∞",
		// units
		`30^\circ`: "30[°]", `12\text{ m/s}`: "12[m/s]", `12\text{ m/s}^2`: "12[m/s2]", `10 cm`: "10[cm]", `5.4 \text{ cents}`: "27/5[¢]", `\$18`: "18[$]", `50\%`: "50%", `6\text{ square inches}`: "6[in2]",
		`7 \text{ apples}`: "7", `2 million`: "(* 2 1000000)", `5 percent`: "5%", `5 is the answer`: "", `4:35 \text{ p.m.}`: "ratio(4 35)pm",
		// structures
		`\{1,2\}`: "{1 2}", `{1,2}`: "{1 2}", `\{\}`: "{}", `\emptyset`: "{}", `(1,2)`: "(1 2)", `\left[0,\infty\right)`: "[0 ∞)", `(0,1)\cup(2,3]`: "∪((0 1) (2 3])", `3:2`: "ratio(3 2)",
		`1 and 2`: "list(1 2)", `1, 2, \text{ and } 3`: "list(1 2 3)", `x=1 or x=2`: "list(<x = 1> <x = 2>)", `1\pm x`: "list((+ 1 x) (+ 1 (- x)))", `x=\pm 2`: "list(<x = 2> <x = (- 2)>)",
		`\begin{pmatrix}1&2\\3&4\end{pmatrix}`: "matrix2(1 2 3 4)", `\left(\begin{array}{cc}1&2\\3&4\end{array}\right)`: "matrix2(1 2 3 4)", `2\begin{pmatrix}1\\x\end{pmatrix}`: "matrix1((* 2 1) (* 2 x))",
		`\begin{pmatrix}1&2\\3\end{pmatrix}`: "", `1<x\le 2`: "<1 < x ≤ 2>", `x\in[1,2]`: "<x ∈ [1 2]>", `x >= 3`: "<x ≥ 3>", `\{x | x>1\}`: "set(x <x > 1>)", `k\pi\text{ where }k\text{ is an integer}`: `list((* k π) <k ∈ \mathbb Z>)`, `k\pi\ (k\in\mathbb{Z}^+)`: `list((* k π) <k ∈ \mathbb Z+>)`, `n\equiv3\pmod{7}`: "<n ≡ 3>mod 7", `3 \bmod 7`: "3mod 7", `\{2k+1:k\in\mathbb{Z}\}`: `set((+ (* 2 k) 1) <k ∈ \mathbb Z>)`, `\{1:2\}`: "{ratio(1 2)}", `\begin{align*}x&=1\\&=2\end{align*}`: "<x = 1 = 2>",
		// words
		`\text{Evelyn}`: `"evelyn"`, `Tuesday`: `"tuesday"`, `\text{(C)}`: "C", `C`: "C", `xy`: "(* x y)", `\text{Area} = 5`: `<"area" = 5>`, `The answer is 5`: "",
		// systems, turned brackets, ordinals, sums
		`\begin{cases}x=1\\y=2\end{cases}`: "list(<x = 1> <y = 2>)", `\begin{cases}x,&\text{if }x>0\\0&x\le0\end{cases}`: "matrix2(x <x > 0> 0 <x ≤ 0>)", `\begin{cases}x&1\\y\end{cases}`: "",
		`]1,2[`: "", `[1[`: "", `> 3`: "<□ > 3>", `3^{r}`: "(^ 3 r)", `10\$`: "10[$]", `25^\circ C`: "25[°C]",
		`5\frac{\text{m}}{\text{s}^2}`: "5[m/s2]", `\sum_{i=1}^3 i+1`: "(+ (\\sum_i=1^3 i) 1)",
		`0.(3)`: "1/3", `0.166...`: "83/500", `1,2,...,9`: "list(1 2 \\ldots 9)", `0.1666...`: "1/6", `1{,}5`: "3/2", `1_{\text{two}}`: "1_2",
		// products, mixed numbers and units without a sign between
		`2^3 3^2`: "(* (^ 2 3) (^ 3 2))", `2^3 3^2 5`: "(* (^ 2 3) (^ 3 2) 5)", `{2}\frac{3}{4}`: "(+ 2 (/ 3 4))", `2{\frac{3}{4}}`: "(+ 2 (/ 3 4))", `{2}\frac{x}{4}`: "(* 2 (/ x 4))",
		`\begin{pmatrix}1&2\\3&4\end{pmatrix}\begin{pmatrix}1\\2\end{pmatrix}`: "", `\begin{pmatrix}1&1\\0&1\end{pmatrix}^3`: "", `\begin{pmatrix}1\\2\end{pmatrix}\begin{pmatrix}1\\2\end{pmatrix}`: "",
		`12,500m`: "12500[m]", `12,500.5m²`: "25001/2[m2]", `500m`: "(* 500 m)", `12,500 m + 1`: "(+ (* 12500 m) 1)", `5 dozen`: "(* 5 12)", `3 tenths`: "(* 3 1/10)", `5 per cent`: "5%", `5 pct`: "5%",
		`5\text{ MHz}`: "5[Mhz]", `5 mHz`: "5[mhz]", `5\text{ KG}`: "5[kg]", `10_{10}`: "10", `\Pi`: `\Pi`,
		`2\vec{b}\times\vec a`: "", `\mathbf{a}\times\mathbf{b}`: "", `(\vec{b}\times\vec a)\times\vec c`: "", `2\times x`: "(* 2 x)", `AB:BC=3:2`: "<ratio((* A B) (* B C)) = ratio(3 2)>", `boys:girls = 3:2`: `<"boys:girls" = ratio(3 2)>`,
		// what cannot be read
		``: "", `\frac{1}{`: "", `((1)`: "", `1)`: "", `\unknown x`: "", `a ? b`: "", "\x00": "", "\xff": "", `1,,`: "1", `\sqrt{}`: "",
	} {
		got := ""
		if a, ok := latex.Read(text); ok {
			got = show(a)
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestReadCommas(t *testing.T) {
	for text, want := range map[string]string{`100,200,300`: "list(100 200 300)", `1, 2`: "", `1{,}000`: "", `1000`: ""} {
		got := ""
		if a, ok := latex.ReadCommas(text); ok {
			got = show(a)
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// TestFractionsInFractions counts the work: it doubles with each level where each is read twice, as a
// mixed number and as a product.
func TestFractionsInFractions(t *testing.T) {
	for _, depth := range []int{10, 18, 19, 20, 60} {
		text := "1"
		for range depth {
			text = `1\frac{` + text + "}{2}"
		}
		if n := testing.AllocsPerRun(1, func() { latex.Cut(text).Read() }); n > 1e6 {
			t.Errorf("%d levels: %v allocations", depth, n)
		}
	}
}
