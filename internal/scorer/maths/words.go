package maths

import (
	"slices"
	"strings"

	"speceval/internal/algebra"
	"speceval/internal/latex"
)

// numberWords are the names of the numbers from zero.
var numberWords = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve " +
	"thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty")

// spelledOut reads a number that is given as a word, seven.
func spelledOut(a latex.Answer) latex.Answer {
	if a.Kind == latex.Words {
		if n := slices.Index(numberWords, a.Text); n >= 0 {
			return latex.Answer{Kind: latex.Value, Expr: algebra.Int(int64(n))}
		}
	}
	return a
}

// phrases gives some phrases that mean the same one spelling.
var phrases = strings.NewReplacer("infinitely many solutions", "infinitely many", "no solutions exist", "no solution", "solutions", "solution", "does not exist", "dne", "doesn't exist", "dne",
	"there is no", "no", "there are no", "no", "all real numbers", "all reals")

// phrase is a text without its article, in the singular.
func phrase(text string) string {
	text = strings.TrimSuffix(phrases.Replace(text), " exists")
	for _, article := range [...]string{"the ", "an ", "a "} {
		if rest, ok := strings.CutPrefix(text, article); ok {
			text = rest
			break
		}
	}
	return strings.ReplaceAll(text, " ", "")
}

// isEmpty tells whether an answer in words is the set without elements.
func isEmpty(a latex.Answer) bool {
	if a.Kind == latex.Words {
		switch phrase(a.Text) {
		case "emptyset", "nullset", "nosolution":
			return true
		}
	}
	return false
}
