package maths

import (
	"regexp"
	"strings"

	"speceval/internal/scoring/words"
)

// delimiters begin and end formulas. The longer ones come first.
var delimiters = [...][2]string{{"$$", "$$"}, {"$", "$"}, {`\(`, `\)`}, {`\[`, `\]`}}

// formula is a place in a text: of what is between two delimiters, and of both.
type formula struct{ start, from, to, end int }

// formulas calls yield with each formula in dollar signs or brackets from a place
// on, in order, until it says no. It says where the last formula that does not end
// begins, -1 if there is none.
func formulas(text string, from int, yield func(formula) bool) (open int) {
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
		if delimiters[d][0] == "$" && words.Money(text[i:]) {
			i++
			continue
		}
		f := formula{start: i}
		i += len(delimiters[d][0])
		length := -1
		if !endless[d] {
			length = strings.Index(text[i:], delimiters[d][1])
		}
		if length < 0 {
			endless[d], open = true, i
			continue
		}
		f.from, f.to = i, i+length
		i += length + len(delimiters[d][1])
		if f.end = i; strings.TrimSpace(text[f.from:f.to]) != "" && !yield(f) {
			break
		}
	}
	return open
}

// delimiter tells which of the delimiters text begins with; -1 if none.
func delimiter(text string) int {
	if text[0] == '$' || text[0] == '\\' {
		for d := range delimiters {
			if strings.HasPrefix(text, delimiters[d][0]) {
				return d
			}
		}
	}
	return -1
}

var (
	// prose is a word in a text, which is no formula then.
	prose = regexp.MustCompile(`(?:^|[^\\\pL])(?:\pL{3}|\p{Lu}\pL(?:\PL|$))`)
	// command is a command of LaTeX. A short text with one is a formula, and its last number
	// is only a part of it.
	command = regexp.MustCompile(`\\[a-zA-Z]`)
)
