package regex

import (
	"regexp/syntax"
	"strings"
	"unicode"
)

// longestSample bounds a sample, in bytes.
const longestSample = 2000

// Sample is a text that an expression matches; pick draws a number below n, by
// which alternatives and characters are chosen. It is false where none is found:
// for expressions that match nothing, or only what stands at the edge of a word,
// say. What it gives is whatever fits, and seldom what a person would write.
func Sample(expression string, pick func(n int) int) (text string, found bool) {
	compiled, err := compile(expression)
	if err != nil {
		return "", false
	}
	tree, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return "", false
	}
	for range 8 {
		w := writer{pick: pick}
		w.write(tree)
		if text := w.text.String(); w.text.Len() <= longestSample && whole(compiled, text) {
			return text, true
		}
	}
	return "", false
}

// writer writes a text that a tree matches, but for what the tree says of its
// surroundings.
type writer struct {
	pick func(n int) int
	text strings.Builder
}

func (w *writer) write(tree *syntax.Regexp) {
	if w.text.Len() > longestSample {
		return
	}
	switch tree.Op {
	case syntax.OpLiteral:
		w.text.WriteString(string(tree.Rune))
	case syntax.OpCharClass:
		w.text.WriteRune(w.member(tree.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		w.text.WriteRune(rune('a' + w.pick(26)))
	case syntax.OpCapture, syntax.OpPlus:
		w.write(tree.Sub[0])
	case syntax.OpRepeat:
		for range tree.Min {
			w.write(tree.Sub[0])
		}
	case syntax.OpConcat:
		for _, part := range tree.Sub {
			w.write(part)
		}
	case syntax.OpAlternate:
		w.write(tree.Sub[w.pick(len(tree.Sub))])
	}
	// Stars and questions are left out, and edges take no room.
}

// member is a character of a class, given as pairs of first and last: a letter or
// a digit where there is one.
func (w *writer) member(ranges []rune) rune {
	var plain, all []rune
	for i := 0; i+1 < len(ranges); i += 2 {
		for r := max(ranges[i], ' '); r <= min(ranges[i+1], '~'); r++ {
			all = append(all, r)
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				plain = append(plain, r)
			}
		}
	}
	switch {
	case len(plain) > 0:
		return plain[w.pick(len(plain))]
	case len(all) > 0:
		return all[w.pick(len(all))]
	case len(ranges) > 0:
		return ranges[0]
	}
	return ' '
}
