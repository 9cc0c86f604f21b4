package maths

import (
	"strings"
	"unicode"
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

// prose tells whether a text has words in it.
func prose(text string) bool {
	run, capital, command := 0, false, false
	for i, r := range text[:min(len(text), 2000)] {
		if unicode.IsLetter(r) {
			if run++; run == 1 {
				capital, command = unicode.IsUpper(r), i > 0 && text[i-1] == '\\'
			}
			continue
		}
		if !command && (run > 2 || run == 2 && capital) {
			return true
		}
		run = 0
	}
	return !command && run > 2
}

// commands tells whether a text has commands of LaTeX: a short one is a formula
// then, of which the last number is a part.
func commands(text string) bool {
	for i := 1; i < len(text); i++ {
		if text[i-1] == '\\' && ('a' <= text[i] && text[i] <= 'z' || 'A' <= text[i] && text[i] <= 'Z') {
			return true
		}
	}
	return false
}
