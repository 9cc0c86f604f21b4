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

// spelledOut is an answer in its plainest form: a number for its name, seven; the items for dots
// between them, {0, 1, …, 9}.
func spelledOut(a latex.Answer) latex.Answer {
	switch a.Kind {
	case latex.Words:
		if n, ok := words.Number(a.Text); ok {
			return latex.Answer{Kind: latex.Value, Expr: algebra.Int(n)}
		}
	case latex.List, latex.Set:
		a.Items = dotted(a.Items)
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

// dotted is a list of integers with all that dots before its last item stand for, if they can
// only be those of an arithmetic progression.
func dotted(items []latex.Answer) []latex.Answer {
	n := len(items)
	if n < 3 || items[n-2].Kind != latex.Value || items[n-2].Expr.Name != `\ldots` {
		return items
	}
	var given []int64
	for _, item := range slices.Concat(items[:n-2], items[n-1:]) {
		r, ok := rational(item)
		if !ok || !r.IsInt() || r.Num().BitLen() > 31 {
			return items
		}
		given = append(given, r.Num().Int64())
	}
	first, last, step := given[0], given[n-2], int64(1)
	if n > 3 {
		step = given[1] - first
	}
	for i, number := range given[:n-2] {
		if number != first+int64(i)*step {
			return items
		}
	}
	if step == 0 || (last-first)%step != 0 || (last-first)/step < int64(n-2) || (last-first)/step > maxIntegers || n == 4 && step != 1 && geometric(given) {
		return items
	}
	var all []latex.Answer
	for number := first; number != last+step; number += step {
		all = append(all, latex.Answer{Kind: latex.Value, Expr: algebra.Int(number)})
	}
	return all
}

// geometric reports whether a number is a later one of the geometric progression that two begin:
// 2, 4, …, 64.
func geometric(given []int64) bool {
	if given[0] == 0 || given[1]%given[0] != 0 || given[1]/given[0] < 2 {
		return false
	}
	next := given[1]
	for max(next, -next) < max(given[2], -given[2]) {
		next *= given[1] / given[0]
	}
	return next == given[2]
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
