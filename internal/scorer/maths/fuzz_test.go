package maths_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"speceval/internal/latex"
	"speceval/internal/scorer"
	"speceval/internal/scorer/maths"
)

func FuzzCheck(f *testing.F) {
	f.Add(`\frac{1}{2}`, `The answer is $0.5$.`)
	f.Add(`\{1,2\}`, `\boxed{2} and \boxed{1}`)
	f.Add(`x>3`, `(3,\infty)`)
	f.Add(`50\%`, `\[\frac12\]`)
	f.Add(`9^{9^{9^9}}`, `\tan(\frac{\pi}{2})`)
	f.Add(`\begin{pmatrix}1\\2\end{pmatrix}`, `(1,2)`)
	f.Add(`\text{(C)}`, "\x00\xffC")
	f.Fuzz(func(t *testing.T, gold, prediction string) {
		there := maths.Check(gold, prediction)
		if len(there.Answer) > 500 {
			t.Fatalf("an answer of %d bytes", len(there.Answer))
		}
		if _, err := maths.New(gold).Score(context.Background(), scorer.Response{Text: prediction, Cut: true}); err != nil {
			t.Fatal(err)
		}
		if back := maths.Check(prediction, gold); back.Correct() != there.Correct() && alone(gold) && alone(prediction) {
			t.Fatalf("%.300q and %.300q: %v there, %v back", gold, prediction, there.Correct(), back.Correct())
		}
		if plain(gold) && !maths.Check(gold, gold).Correct() {
			t.Fatalf("%.300q is not equal to itself", gold)
		}
	})
}

// plain tells whether a text is an answer as it stands: a list in several boxes
// is one only where gold is a list.
func plain(text string) bool {
	_, ok := latex.Read(text)
	return ok && len(text) < 400 && len(scorer.Boxes(text)) == 0 && utf8.ValidString(text)
}

// lettered is a text that may be a choice with its letter, as in "A. 0".
var lettered = regexp.MustCompile(`^[^A-J]*[A-J][^a-zA-Z0-9]*[).:]`)

// alone tells whether a text is an expression, which is compared the same both
// ways. Responses may say of what their answer is the value, leave out that it is in
// cents, or put a choice behind its letter.
func alone(text string) bool {
	a, ok := latex.Read(text)
	return ok && plain(text) && a.Kind == latex.Value && a.Unit != "¢" && !strings.Contains(text, "_") && !lettered.MatchString(text)
}
