package words

import (
	"regexp"
	"strings"
)

// delimiters begin and end formulas. The longer ones come first.
var delimiters = [...][2]string{{"$$", "$$"}, {"$", "$"}, {`\(`, `\)`}, {`\[`, `\]`}}

// Formula is a place in a text: of what is between two delimiters, and of both.
type Formula struct{ Start, From, To, End int }

// Formulas calls yield with each formula in dollar signs or brackets from a place
// on, in order, until it says no. It says where the last formula that does not end
// begins, -1 if there is none.
func Formulas(text string, from int, yield func(Formula) bool) (open int) {
	var endless [len(delimiters)]bool // the rest of the text does not have its end
	open = -1
	for i := from; i < len(text); {
		d := delimiter(text[i:])
		if d < 0 {
			if text[i] == '\\' {
				i++
			}
			i++
			continue
		}
		f := Formula{Start: i}
		i += len(delimiters[d][0])
		length := -1
		if !endless[d] {
			length = strings.Index(text[i:], delimiters[d][1])
		}
		if length < 0 {
			endless[d], open = true, i
			continue
		}
		f.From, f.To = i, i+length
		i += length + len(delimiters[d][1])
		if f.End = i; strings.TrimSpace(text[f.From:f.To]) != "" && !yield(f) {
			break
		}
	}
	return open
}

// delimiter tells which of the delimiters text begins with; -1 if none, as for a sum of money.
func delimiter(text string) int {
	if text[0] == '$' || text[0] == '\\' {
		for d := range delimiters {
			if strings.HasPrefix(text, delimiters[d][0]) {
				if delimiters[d][0] == "$" && money(text) {
					return -1
				}
				return d
			}
		}
	}
	return -1
}

// worded matches a word that is no command.
var worded = regexp.MustCompile(`(?:^|[^\\\pL{])\pL{3}`)

// money reports whether the dollar sign that a text begins with is one of money and not of a
// formula: a number follows, and then words, or another sum.
func money(text string) bool {
	inside, rest, closed := strings.Cut(text[1:], "$")
	digit := func(s string) bool { return s != "" && '0' <= s[0] && s[0] <= '9' }
	return digit(inside) && (closed && digit(rest) || !strings.Contains(inside, `\`) && worded.MatchString(inside))
}
