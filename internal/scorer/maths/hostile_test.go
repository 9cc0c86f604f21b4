package maths_test

import (
	"strings"
	"testing"

	"speceval/internal/scorer/maths"
)

// TestHostile would not end, or run out of memory, if any of these were
// evaluated as they are written.
func TestHostile(t *testing.T) {
	megabyte := func(piece string) string { return strings.Repeat(piece, 1<<20/len(piece)) }
	texts := []string{
		`9^{9^{9^9}}`, `9!!!!!!!`, `((((9!)!)!)!)!`, `2^{2^{2^{2^{2^{2}}}}}`, `1e9999`, `10^{10^{10}}`, `0.1^{99999999999}`, `\binom{5000}{2500}^{5000}`,
		`(\sqrt{2})^{65535}`, `\exp(\exp(\exp(\exp 5)))`, `\sin(10^{100})`, `\sqrt[1000000000]{2}`, `x^{x^{x^{x}}}`, `1` + strings.Repeat("0", 5500),
		strings.Repeat(`\sin(`, 50) + "x" + strings.Repeat(")", 50), strings.Repeat(`\{`, 50) + "1" + strings.Repeat(`\}`, 50),
		strings.Repeat("(x=", 25) + "1" + strings.Repeat(")", 25), strings.Repeat(`\pm 1,`, 900), strings.Repeat(`\sin x+`, 500) + "1",
		strings.Repeat("5000!+", 500) + "1", strings.Repeat(`x^{65535}+`, 200) + "1", "1" + strings.Repeat(",x+1", 900), strings.Repeat(`\{1,`, 40) + "2" + strings.Repeat(`\}`, 40),
		strings.Repeat(`\{1,2\}\cup`, 300) + `\{3\}`, strings.Repeat(`(1,2)\cup`, 300) + `(3,4)`, strings.Repeat("f(", 1500), strings.Repeat(`\frac`, 1000), strings.Repeat(`\text{`, 900),
		strings.Repeat("1/", 600) + "3", strings.Repeat("-", 3000) + "1", strings.Repeat("a_", 2000), strings.Repeat(`\begin{pmatrix}`, 300),
		`\boxed{` + strings.Repeat("{", 4000) + strings.Repeat("}", 4000) + "}",
		megabyte("{"), megabyte("}"), megabyte("("), megabyte("$"), megabyte(`\boxed{`), megabyte(`\boxed{1}`), megabyte("\\boxed{1}\n"), megabyte("answer is "), megabyte("1"), megabyte("1,"), megabyte(`\[`), megabyte("\\"), megabyte("\x00"), megabyte("\xff"),
		"the answer is " + megabyte(`\frac{`), `\boxed{` + megabyte("x+") + "}", `\boxed{` + megabyte("{}") + "}", megabyte("the answer is $"), megabyte(`\(\)`), megabyte("word "),
	}
	for _, text := range texts {
		maths.Check("5", text)
		maths.Check(text, `x^2+1`)
		if len(text) > 1<<19 {
			continue
		}
		for _, gold := range []string{`\{1,2,3\}`, `(1,x)`, `x>5`} {
			maths.Check(gold, text)
			maths.Check(text, gold)
		}
		maths.Check(text, text+" ")
		maths.Check(text+"+0", text)
		maths.Check(text, "1\\cdot "+text)
	}
}
