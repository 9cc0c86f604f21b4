package text

import (
	"regexp"
	"strings"

	"speceval/internal/scoring"
	"speceval/internal/scoring/words"
)

// final is the final answer of a response.
type final struct {
	text  string // "" if nothing was read
	boxed bool   // it was in a box
	note  string // where else it was read, or why it was not
}

// readFinal reads what the boxes of a response state, see [words.Boxed], or, where there
// is none, the last line that is not empty, but of a response that is cut.
func readFinal(r scoring.Response) final {
	text := strings.TrimSpace(r.Text)
	if content, note, found := words.Boxed(text, false); found {
		return final{strings.TrimSpace(content), true, note}
	}
	if r.Cut {
		return final{note: "no box, and the response is cut"}
	}
	tagged, found := words.Tagged(text)
	switch {
	case found:
		return final{text: strings.TrimSpace(tagged), note: words.TagRead}
	case text == "":
		return final{note: "empty response"}
	}
	return final{text: strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:]), note: "no box: the last line was read"}
}

// label matches a label before the answer in the last line of a response.
var label = regexp.MustCompile(`(?i)^\**(?:final )?answer\**:\**[ \t]*`)

// deepest is how many wrappers and labels are taken off at most.
const deepest = 5

// readings are the ways to read a final answer: as it stands; without the word
// "Answer:" or "Final answer:" before it, where it is a line; and without each of the
// wrappers around it. There is none if nothing was read.
func (f final) readings() (all []string) {
	for text := f.text; text != "" && len(all) <= deepest; {
		all = append(all, text)
		inner := unwrap(text)
		if inner == text && !f.boxed {
			inner = label.ReplaceAllString(text, "")
		}
		if inner = strings.TrimSpace(inner); inner == text {
			break
		}
		text = inner
	}
	return all
}

// command is a command of LaTeX around all of a text.
var command = regexp.MustCompile(`(?s)^\\([a-zA-Z]+)\{(.+)\}$`)

// unwrap takes off a mark or a font that holds all of a text.
func unwrap(text string) string {
	if m := command.FindStringSubmatch(text); m != nil && words.LookOf(m[1]) != 0 && words.LookOf(m[1]) < words.Layout && balanced(m[2]) {
		return m[2]
	}
	for _, mark := range [...]string{"$", "**", "`"} {
		if inner := strings.TrimSuffix(strings.TrimPrefix(text, mark), mark); len(inner) == len(text)-2*len(mark) && inner != "" && !strings.Contains(inner, mark) {
			return inner
		}
	}
	return text
}

// balanced reports whether every brace of a text closes one that it opens.
func balanced(text string) bool {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '{':
			depth++
		case '}':
			if depth--; depth < 0 {
				return false
			}
		}
	}
	return depth == 0
}
