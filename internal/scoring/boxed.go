package scoring

import (
	"iter"
	"strings"
)

// opens is the length of the macro and the brace that begin a box, if a text begins with them.
func opens(text string) int {
	rest, boxed := strings.CutPrefix(text, `\boxed`)
	if !boxed {
		rest, boxed = strings.CutPrefix(text, `\fbox`)
	}
	rest = strings.TrimLeft(rest, " \t\n")
	if !boxed || !strings.HasPrefix(rest, "{") {
		return 0
	}
	return len(text) - len(rest) + 1
}

// Box is the argument of a \boxed or \fbox.
type Box struct {
	From, To int  // of the argument in the text, without its braces
	Open     bool // the text ends before the brace that closes it
}

// Boxes are the boxes of a text that are not inside another, in order. Braces after a
// backslash do not count. They take time in proportion to the text, whatever that is.
func Boxes(text string) iter.Seq[Box] {
	return func(yield func(Box) bool) {
		var open []int // where the arguments of open boxes begin, and -1 for other open braces
		inside := 0    // open boxes
		for i := 0; i < len(text); i++ {
			switch text[i] {
			case '\\':
				if n := opens(text[i:]); n > 0 {
					open, inside = append(open, i+n), inside+1
					i += n - 1
				} else {
					i++ // \{, \} and \\ among others
				}
			case '{':
				open = append(open, -1)
			case '}':
				if len(open) == 0 {
					continue
				}
				from := open[len(open)-1]
				open = open[:len(open)-1]
				if from < 0 {
					continue
				}
				if inside--; inside == 0 && !yield(Box{From: from, To: i}) {
					return
				}
			}
		}
		for _, from := range open {
			if from >= 0 {
				yield(Box{From: from, To: len(text), Open: true})
				return
			}
		}
	}
}
