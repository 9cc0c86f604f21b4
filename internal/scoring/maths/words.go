package maths

import (
	"slices"
	"strconv"
	"strings"

	"speceval/internal/scoring/maths/algebra"
	"speceval/internal/scoring/maths/latex"
)

// numberWords are the names of the numbers from zero.
var numberWords = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve " +
	"thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty")

// tens are the names of the tens, those below twenty left out.
var tens = strings.Fields("twenty thirty forty fifty sixty seventy eighty ninety")

// spelled writes a number below a hundred that is all of a text in digits, with a
// percent sign if it says so: forty-five percent. Other texts stay as they are.
func spelled(text string) string {
	if len(text) > 60 || strings.ContainsAny(text, "0123456789") {
		return text
	}
	k, sign := strings.ToLower(key(text)), ""
	for _, word := range [...]string{"percent", "%", `\%`} {
		if rest, ok := strings.CutSuffix(k, word); ok {
			k, sign = strings.TrimRight(rest, "-"), "%"
		}
	}
	if n := slices.Index(numberWords, k); n >= 0 {
		return strconv.Itoa(n) + sign
	}
	for i, name := range tens {
		rest, ok := strings.CutPrefix(k, name)
		rest = strings.TrimPrefix(rest, "-")
		n := slices.Index(numberWords[:10], rest)
		if ok && (rest == "" || n > 0) {
			return strconv.Itoa(10*(i+2)+max(n, 0)) + sign
		}
	}
	return text
}

// labelled is what follows words that only introduce an answer in a formula:
// \text{The ratio is } 3:2.
func labelled(text string) (string, bool) {
	rest := strings.TrimPrefix(strings.TrimLeft(text, " $"), `\displaystyle`)
	rest, ok := strings.CutPrefix(strings.TrimLeft(rest, " "), `\text{`)
	words, answer, closed := strings.Cut(rest, "}")
	fields := strings.Fields(lowered(words))
	if !ok || !closed || len(fields) == 0 || qualified(fields) {
		return "", false
	}
	return answer, strings.Contains(" is are equals ratio ", " "+fields[len(fields)-1]+" ")
}

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
