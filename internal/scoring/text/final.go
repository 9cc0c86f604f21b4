package text

import (
	"regexp"
	"slices"
	"strings"

	"speceval/internal/scoring"
	"speceval/internal/scoring/words"
)

// readFinal reads what a response marks, see [words.Marked], or else its last line that is not empty.
func readFinal(r scoring.Response) words.Final {
	text := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(r.Text), "\n```")) // a fenced line
	final, ends := words.Marked(text, r.Cut, false)
	if text == "" && !ends {
		final.Note = "empty response"
	} else if !ends {
		final.Text, final.Note = text[strings.LastIndexByte(text, '\n')+1:], "no box: the last line was read"
	}
	final.Text = strings.TrimSpace(final.Text)
	return final
}

var (
	colons   = regexp.MustCompile("[:：]")
	sentence = regexp.MustCompile(`(?i)^(?:.*[.!?] )?(?:(?:so|thus|hence|therefore),? )?(?:the|my) (?:final |correct )?answer is:? (.+)$`)
)

// unlabelled is the last line of a response without the label before its answer, in any language,
// or, in English, without the sentence around it and those before.
func unlabelled(text string) string {
	if m := sentence.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	colon := colons.FindStringIndex(text)
	if colon == nil {
		return text
	}
	name := strings.ToLower(strings.Trim(words.English(text[:colon[0]]), "* "))
	if name = strings.TrimPrefix(name, "the "); name != "answer" && name != "final answer" {
		return text
	}
	return strings.TrimLeft(strings.TrimLeft(text[colon[1]:], "*"), " \t")
}

// deepest is how many wrappers and labels are taken off at most.
const deepest = 5

// readings are the ways to read a final answer: as it stands; without the word
// "Answer:" or "Final answer:" before it, where it is a line; and without each of the
// wrappers around it. There is none if nothing was read.
func readings(f words.Final) (all []string) {
	for text := f.Text; text != "" && len(all) <= deepest; {
		all = append(all, text)
		inner := unwrap(text)
		if inner == text && !f.Boxed {
			inner = unlabelled(text)
		}
		if inner == text && !f.Boxed {
			inner = strings.TrimSuffix(text, ".")
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
	for _, mark := range [...]string{"$", "**", "`", `"`} {
		if inner := strings.TrimSuffix(strings.TrimPrefix(text, mark), mark); len(inner) == len(text)-2*len(mark) && inner != "" && !strings.Contains(inner, mark) {
			return inner
		}
	}
	return text
}

// balanced reports whether every brace of a text closes one that it opens.
func balanced(text string) bool {
	box := slices.Collect(scoring.Boxes(`\boxed{` + text + "}"))[0]
	return box.To == len(`\boxed{`+text)
}
