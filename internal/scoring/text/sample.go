package text

import (
	"regexp/syntax"
	"strings"
)

// Sample is a text that an expression matches. It is false where none is found: for
// expressions that match nothing, or only what stands at the edge of a word, say.
func Sample(expression string) (text string, found bool) {
	compiled, err := compile(expression)
	if err != nil {
		return "", false
	}
	tree, _ := syntax.Parse(expression, syntax.Perl)
	text = written(tree)
	return text, whole(compiled, text)
}

// written is a text that a tree matches, but for what the tree says of its
// surroundings. Stars and questions are left out, and edges take no room.
func written(tree *syntax.Regexp) string {
	switch tree.Op {
	case syntax.OpLiteral:
		return string(tree.Rune)
	case syntax.OpCharClass:
		for _, r := range "a0A" {
			for i := 0; i+1 < len(tree.Rune); i += 2 {
				if tree.Rune[i] <= r && r <= tree.Rune[i+1] {
					return string(r)
				}
			}
		}
		return string(tree.Rune[:min(1, len(tree.Rune))])
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "a"
	case syntax.OpAlternate:
		return written(tree.Sub[0])
	case syntax.OpRepeat:
		return strings.Repeat(written(tree.Sub[0]), tree.Min)
	case syntax.OpCapture, syntax.OpPlus, syntax.OpConcat:
		var b strings.Builder
		for _, part := range tree.Sub {
			b.WriteString(written(part))
		}
		return b.String()
	}
	return ""
}
