package launcher

import (
	"fmt"
	"strings"
)

// split takes a command line apart at blanks. Single and double quotes keep
// blanks in a word; nothing else of a shell is known.
func split(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote rune
	inWord := false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("the quote %c is not closed in %q", quote, line)
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}
