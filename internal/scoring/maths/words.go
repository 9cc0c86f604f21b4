package maths

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"speceval/internal/scoring/maths/algebra"
	"speceval/internal/scoring/maths/latex"
	"speceval/internal/scoring/words"
)

// spelled writes the name of a number that is all of a text in digits, with a
// percent sign if it says so: forty-five percent. Other texts stay as they are.
func spelled(text string) string {
	if len(text) > 60 || strings.ContainsAny(text, "0123456789") {
		return text
	}
	name, sign := strings.ToLower(latex.Cut(text).Key()), ""
	for _, word := range [...]string{"percent", "%", `\%`} {
		if rest, ok := strings.CutSuffix(name, word); ok {
			name, sign = strings.TrimRight(rest, "-"), "%"
		}
	}
	if n, ok := words.Number(name); ok {
		return strconv.FormatInt(n, 10) + sign
	}
	return text
}

// labelled is the text behind words that only introduce an answer in a formula: \text{The
// ratio is } 3:2.
func labelled(text string) (string, bool) {
	rest := strings.TrimPrefix(strings.TrimLeft(text, " $"), `\displaystyle`)
	rest, ok := strings.CutPrefix(strings.TrimLeft(rest, " "), `\text{`)
	label, answer, closed := strings.Cut(rest, "}")
	return answer, ok && closed && words.Introduces(label)
}

// spelledOut is an answer with a number for its name, seven.
func spelledOut(a latex.Answer) latex.Answer {
	if n, ok := words.Number(a.Text); ok && a.Kind == latex.Words {
		return latex.Answer{Kind: latex.Value, Expr: algebra.Int(n)}
	}
	return a
}

// forms are the forms of a quantity that an answer gives, 5.5 hours or 330 minutes, 1/3 or 0.33;
// or the answer alone.
func (c *comparer) forms(a latex.Answer) []latex.Answer {
	if len(a.Items) == 2 && a.Op == "∨" && a.Items[0].Kind == latex.Value && a.Items[1].Kind == latex.Value && (c.equalValues(a.Items[0], a.Items[1]) || rounds(a.Items[0].Expr, a.Items[1].Expr)) {
		return a.Items
	}
	return []latex.Answer{a}
}

// limit is the phrase behind all numbers of an answer that says more than a unit, see
// [words.Limit].
func limit(a latex.Answer) string {
	said := a.Limit
	if a.Kind == latex.Relation && a.Items[0].Kind == latex.Words && !words.Names(a.Items[0].Text) {
		said = a.Items[0].Text
	}
	if a.Kind == latex.Relation && !slices.Contains(a.Rels, "=") { // x > 3 integers
		said += strings.Join(a.Items[len(a.Items)-1].Nouns, " ")
	}
	for _, item := range a.Items {
		if more := limit(item); more != "" {
			said += ";" + more
		}
	}
	return strings.TrimPrefix(said, ";")
}

// phrases gives some phrases that mean the same one spelling.
var phrases = strings.NewReplacer("infinitely many solutions", "infinitely many", "no solutions exist", "no solution", "solutions", "solution", "does not exist", "dne", "doesn't exist", "dne",
	"there is no", "no", "there are no", "no", "all real numbers", "all reals")

var articles = regexp.MustCompile(`^(?:the|an?) `)

// phrase is a text without its article, in the singular.
func phrase(text string) string {
	text = strings.TrimSuffix(phrases.Replace(text), " exists")
	return strings.ReplaceAll(articles.ReplaceAllString(text, ""), " ", "")
}
