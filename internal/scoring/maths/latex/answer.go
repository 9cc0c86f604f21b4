package latex

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"speceval/internal/scoring/maths/algebra"
)

// Kind is the kind of an answer.
type Kind uint8

// The kinds of answers. Items of lists, sets, tuples and so on are answers.
const (
	Value    Kind = iota // Expr, perhaps with a Unit or a Percent sign
	Words                // Text
	List                 // Items, separated by commas or words, without brackets; Op ∨ if "or" is among them, ∧ if "and" is, ± or ∓ for the readings of such signs
	Set                  // Items in braces
	Tuple                // Items in Open and Close: a point, a vector or an interval
	Union                // Items joined by Op: ∪, ∩ or ∖
	Builder              // a set of what is Items[0], under the conditions Items[1:]
	Matrix               // Items row by row, Columns of them in each, in Open and Close
	Relation             // Items with Rels between them: x = 5, 1 < x ≤ 2, x ∈ S
	Ratio                // Items separated by colons: 3:2, or a time of day
)

// Answer is a piece of mathematics.
type Answer struct {
	Kind        Kind
	Expr        *algebra.Expr
	Unit        string   // "" for none, else as units.go spells it
	Nouns       []string // other words behind a Value: what is counted, or a direction
	Limit       string   // what these words say beyond that, see [words.Limit]
	Percent     bool
	Modulus     *algebra.Expr // of a congruence or a residue; nil else
	Text        string        // of Words: in lower case
	Items       []Answer
	Rels        []string // = < > ≤ ≥ ≠ ≈ ∈ ∉ ≡, one less than there are Items
	Op          string
	Clock       bool // a Ratio whose last part has two digits, as a time of day has
	Columns     int
	Open, Close byte
}

// Nameless is the variable of a relation that has none: > 3.
const Nameless = "□"

// Bounds on what is read. An answer beyond them cannot be read.
const (
	maxLength = 6000 // bytes
	maxTokens = 1500
	maxDepth  = 60
	maxDigits = 2000 // of a number
	maxSigns  = 3    // of ± in an answer
)

// Text is a text that has been cut into tokens.
type Text struct{ lexer }

// Cut cuts a text into tokens, by commas those between digits as well.
func Cut(text string) *Text { return cut(text, false) }

func cut(text string, commas bool) *Text {
	if strings.HasPrefix(strings.TrimLeft(text, " $"), `"`) { // and no inches
		text = strings.ReplaceAll(text, `"`, "")
	}
	text = plain(text)
	if strings.Contains(text, " (") {
		text = withForm(nearly.ReplaceAllString(text, ""))
	}
	t := &Text{lexer{text: text, commas: commas}}
	if t.failed = len(text) > maxLength; !t.failed {
		t.run(false)
	}
	return t
}

// Key spells a text in one of the ways in which it could be spelled: without space, fonts and
// such. Texts with the same key are the same answer.
func (t *Text) Key() string {
	if t.failed {
		return strings.Join(strings.Fields(strings.ReplaceAll(t.text, "$", "")), "")
	}
	var b strings.Builder
	single := func(open int) bool { // x^{2}
		return open >= 0 && open+2 < len(t.tokens) && t.tokens[open].text == "{" && len(t.tokens[open+1].text) == 1 && t.tokens[open+2].text == "}"
	}
	for i, token := range t.tokens {
		if single(i) || single(i-2) {
			continue
		}
		if token.kind == number && i > 0 && t.tokens[i-1].kind == number {
			b.WriteByte(' ')
		}
		b.WriteString(cmp.Or(token.run, token.text))
	}
	return strings.TrimRight(strings.Trim(b.String(), " *"), ".,;: ")
}

// Read parses the tokens, once, and reports whether it could.
func (t *Text) Read() (Answer, bool) {
	if t.failed || len(t.tokens) == 0 {
		return Answer{}, false
	}
	p := parser{tokens: stated(t.tokens)}
	a := p.whole()
	if p.failed {
		return Answer{}, false
	}
	return expandSigns(undegreed(a))
}

// Read parses an answer, and reports whether it could.
func Read(text string) (Answer, bool) { return Cut(text).Read() }

// also is another form of an answer behind it: 7 (or 7.0), 5.5 hours (330 minutes).
var also = regexp.MustCompile(`\s+\((?:(?:or|i\.e\.,?) |(\d[\d.,/]*\s*(?:\\text\{)?\s*([a-z]{3,})))([^()]*)\)(\}*)\.?\s*$`)

// withForm writes another form of an answer as an alternative: 7 or 7.0. A factor in brackets is
// none, 2(3xyz) or 4(2sin x).
func withForm(text string) string {
	at := also.FindStringSubmatch(text)
	if at == nil {
		return text
	}
	measure, name, rest, closing := at[1], at[2], at[3], at[4]
	if name != "" && (!isUnit(name) || functions[name] != "" && strings.Trim(rest, " }") != "") {
		return text
	}
	return strings.TrimSuffix(text, at[0]) + " or " + measure + rest + closing
}

// nearly is a rounded value behind an answer: 1/3 (about 0.33).
var nearly = regexp.MustCompile(`\s+\((?:about|approximately|approx\.?|roughly|\\approx|≈|~)[^()]*\)\.?\s*$`)

// ReadCommas reads a text whose commas between digits might separate
// thousands, as in 100,200,300, as the list that it might be as well. It is
// false if the text has no such commas or cannot be read, and where a group begins with
// a zero, as no number of a list does.
func ReadCommas(text string) (Answer, bool) {
	if t := Cut(text); !t.thousands || strings.Contains(text, ",0") {
		return Answer{}, false
	}
	return cut(text, true).Read()
}

// Rewrite is a with other nodes for some of its expressions, see [algebra.Rewrite].
func (a Answer) Rewrite(by func(e *algebra.Expr) *algebra.Expr) Answer {
	if a.Expr != nil {
		a.Expr = algebra.Rewrite(a.Expr, by)
	}
	a.Items = slices.Clone(a.Items)
	for i := range a.Items {
		a.Items[i] = a.Items[i].Rewrite(by)
	}
	return a
}

// Any reports whether is holds for a node of an expression in a.
func (a Answer) Any(is func(e *algebra.Expr) bool) bool {
	return a.Expr != nil && a.Expr.Any(is) || slices.ContainsFunc(a.Items, func(item Answer) bool { return item.Any(is) })
}

// value makes an answer of an expression.
func value(e *algebra.Expr) Answer { return Answer{Kind: Value, Expr: e} }
