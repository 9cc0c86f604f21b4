package latex_test

import (
	"testing"

	"speceval/internal/latex"
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
