package scoring

import (
	"regexp"
	"strings"
)

// Final is the final answer of a response, for scorers that compare it as a text
// or look for a number in it.
type Final struct {
	Text  string // what was read; "" if nothing was
	Boxed bool   // it was in a box
	Note  string // where else it was read, or why it was not
}

// ReadFinal reads the final answer of a response: what is in the last box that is
// not empty, or, where there is no box, the last line that is not empty. A box
// that does not end is not read, nor is the last line of a response that is cut.
func ReadFinal(r Response) Final {
	box, found := LastBox(r.Text, func(b Box) bool { return b.Open || strings.TrimSpace(r.Text[b.From:b.To]) != "" })
	switch {
	case found && box.Open:
		return Final{Note: "the last box does not end"}
	case found:
		return Final{Text: strings.TrimSpace(r.Text[box.From:box.To]), Boxed: true}
	case r.Cut:
		return Final{Note: "no box, and the response is cut"}
	}
	text := strings.TrimSpace(r.Text)
	if text == "" {
		return Final{Note: "empty response"}
	}
	line := strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
	return Final{Text: line, Note: "no box: the last line was read"}
}

// label is what may stand before the answer in the last line of a response.
var label = regexp.MustCompile(`(?i)^\**(?:final )?answer:\**[ \t]*`)

// wrappers are marks that may stand around all of an answer.
var wrappers = [...][2]string{
	{`\text{`, "}"}, {`\textbf{`, "}"}, {`\texttt{`, "}"}, {`\mathrm{`, "}"}, {`\mathbf{`, "}"}, {`\boxed{`, "}"}, {`\fbox{`, "}"},
	{"$", "$"}, {"**", "**"}, {"`", "`"},
}

// deepest is how many wrappers and labels are taken off at most.
const deepest = 5

// Readings are the ways to read a final answer: as it stands; without the word
// "Answer:" or "Final answer:" before it, where it is a line; and without each of
// the marks around it, \text{…}, \mathrm{…}, $…$, **…** and `…` among them. There
// is none if nothing was read.
func (f Final) Readings() []string {
	if f.Text == "" {
		return nil
	}
	all := []string{f.Text}
	text := f.Text
	for range deepest {
		inner, off := unwrap(text)
		if !off && !f.Boxed {
			inner = label.ReplaceAllString(text, "")
			off = inner != text
		}
		if !off {
			break
		}
		text = add(&all, inner)
	}
	return all
}

// add adds another reading, if it is one, and returns the last.
func add(all *[]string, text string) string {
	text = strings.TrimSpace(text)
	last := (*all)[len(*all)-1]
	if text == "" || text == last {
		return last
	}
	*all = append(*all, text)
	return text
}

// unwrap takes off a wrapper that holds all of a text.
func unwrap(text string) (inner string, off bool) {
	for _, w := range wrappers {
		rest, opens := strings.CutPrefix(text, w[0])
		inner, closes := strings.CutSuffix(rest, w[1])
		if !opens || !closes || inner == "" {
			continue
		}
		if w[1] == "}" && !balanced(inner) || w[1] != "}" && strings.Contains(inner, w[1]) {
			continue
		}
		return inner, true
	}
	return "", false
}

// balanced tells whether every brace of a text closes one that it opens.
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
