package text

import (
	"regexp/syntax"
	"strings"
	"unicode"
)

// longestSample bounds a sample, in bytes.
const longestSample = 2000

// Sample is a text that an expression matches; pick draws a number below n, by which
// alternatives are chosen. It is false where none is found: for expressions that match
// nothing, or only what stands at the edge of a word, say.
func Sample(expression string, pick func(n int) int) (text string, found bool) {
	compiled, err := compile(expression)
	if err != nil {
		return "", false
	}
	tree, _ := syntax.Parse(expression, syntax.Perl)
	for range 8 {
		var b strings.Builder
		write(&b, tree, pick)
		if text := b.String(); len(text) <= longestSample && whole(compiled, text) {
			return text, true
		}
	}
	return "", false
}

// write writes a text that a tree matches, but for what the tree says of its
// surroundings. Stars and questions are left out, and edges take no room.
func write(b *strings.Builder, tree *syntax.Regexp, pick func(n int) int) {
	times := 1
	switch tree.Op {
	case syntax.OpLiteral:
		b.WriteString(string(tree.Rune))
	case syntax.OpCharClass:
		b.WriteRune(member(tree.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte("abcdefghij"[pick(10)])
	case syntax.OpAlternate:
		write(b, tree.Sub[pick(len(tree.Sub))], pick)
	case syntax.OpRepeat:
		times = tree.Min
		fallthrough
	case syntax.OpCapture, syntax.OpPlus, syntax.OpConcat:
		for range times {
			for _, part := range tree.Sub {
				if b.Len() <= longestSample {
					write(b, part, pick)
				}
			}
		}
	}
}

// member is a character of a class, given as pairs of first and last: a letter or a
// digit where there is one.
func member(ranges []rune) rune {
	best := ' '
	for i := 0; i+1 < len(ranges); i += 2 {
		if best == ' ' {
			best = ranges[i]
		}
		for r := max(ranges[i], '0'); r <= min(ranges[i+1], 'z'); r++ {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				return r
			}
		}
	}
	return best
}
