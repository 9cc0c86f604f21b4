package scoring

import (
	"iter"
	"regexp"
)

// macro matches what begins a box: a macro whose argument is a final answer, with its opening brace.
var macro = regexp.MustCompile(`^\\(?:boxed|fbox)[ \t\n]*\{`)

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
				if n := len(macro.FindString(text[i:])); n > 0 {
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
