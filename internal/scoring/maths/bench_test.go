package maths_test

import (
	"context"
	"strings"
	"testing"

	"speceval/internal/scoring"
	"speceval/internal/scoring/maths"
)

// BenchmarkScore has some 4 kB of reasoning, as of a thousand tokens, with an answer in a box at
// its end.
func BenchmarkScore(b *testing.B) {
	const step = "Substituting $x = \\frac{3}{4}$ into the second equation, we find that $2y^2 - 5y + \\frac{9}{16} = 0$, so the sum of the roots is $\\frac{5}{2}$.\n\n"
	for _, test := range []struct{ name, gold, answer string }{
		{"integer, right", "204", "204"},
		{"integer, wrong", "204", "113"},
		{"fraction, other form", `\frac{3}{4}`, `\dfrac{6}{8}`},
		{"root, other form", `2\sqrt{3}`, `\sqrt{12}`},
		{"root, wrong", `2\sqrt{3}`, `\sqrt{13}`},
		{"polynomial, other form", `x^2+2x+1`, `(x+1)^2`},
		{"list, other order", `3, 5, 7`, `7, 3, 5`},
	} {
		b.Run(test.name, func(b *testing.B) {
			text := strings.Repeat(step, 4000/len(step)) + `Therefore the final answer is $\boxed{` + test.answer + `}$.`
			s, r := maths.New(test.gold), scoring.Response{Text: text}
			b.SetBytes(int64(len(r.Text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Score(context.Background(), r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
