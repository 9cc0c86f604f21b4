package maths

import (
	"regexp"
	"strings"

	"speceval/internal/scoring"
	"speceval/internal/scoring/maths/latex"
	"speceval/internal/scoring/words"
)

// answer is what was found in a text.
type answer struct{ text, note string }

// Bounds on what is tried without a box.
const (
	longestWhole = 400 // of a text that is an answer as a whole, in bytes
	longestTail  = 300 // of what follows "the answer is"
	mostWords    = 12  // of an answer in a sentence
)

// final finds the final answer of a text: what is in the last box, or, if there
// is none and the text ends where its author wanted, what is at the places
// where people look for it. Several says that the answers in the boxes of the
// last line that has any belong together.
func final(text string, ended, several bool) answer {
	boxes := scoring.Boxes(text)
	if len(boxes) > 0 {
		return boxed(text, boxes, several)
	}
	if !ended {
		return answer{note: "no box, and the response is cut"}
	}
	if i := strings.LastIndex(text, "<answer>"); i >= 0 {
		inside, _, _ := strings.Cut(text[i+len("<answer>"):], "</answer>")
		return answer{trimmed(inside), "no box: the answer tag was read"}
	}
	if whole := trimmed(text); len(whole) <= longestWhole {
		if a, ok := latex.Read(whole); ok && !(hasWords(a) && (strings.Contains(whole, "answer") || strings.IndexByte(whole, '$') > 0 || !several && spoken(a))) {
			return answer{text: whole}
		}
	}
	refused := -1
	for i, finder := range finders {
		if i == amongWords && !prose.MatchString(text[:min(len(text), 2000)]) && !strings.Contains(text, " is ") {
			return answer{text: trimmed(text)[:min(len(trimmed(text)), longest)]}
		}
		p, content, ok := finder.find(text)
		if ok && content == "" {
			return answer{note: "no box, and the last formula does not end"}
		}
		if ok && p.from >= refused {
			if value, ok := found(text, p, content); ok {
				return answer{value, finder.note}
			}
			refused = p.to
		}
	}
	if refused > 0 {
		return answer{note: "no box, and no value is stated as the answer"}
	}
	if len(text) <= longestWhole {
		return answer{text: trimmed(text)}
	}
	return answer{note: "no answer was found"}
}

// stated is the answer that a gold states: in a box, in formulas of a sentence,
// or as it is.
func stated(gold string) string {
	if boxes := scoring.Boxes(gold); len(boxes) > 0 && !boxes[len(boxes)-1].Open {
		return boxed(gold, boxes, true).text
	}
	if _, ok := latex.Read(gold); !ok {
		if p, content, ok := lastMath(gold); ok && words.States(gold, p.from, p.to) == words.Stated && content != "" {
			return content
		}
	}
	return trimmed(gold)
}

// trimmed is a text without the marks around it. A single quotation mark is the
// sign for inches.
func trimmed(text string) string {
	text = strings.Trim(strings.TrimSpace(text), "*#` \n")
	if strings.HasPrefix(text, `"`) {
		text = strings.Trim(text, "*#\"` \n")
	}
	return text
}

// spoken tells whether a list begins with words and ends in something else, as a
// sentence does: Therefore, x = 42.
func spoken(a latex.Answer) bool {
	return a.Kind == latex.List && a.Items[0].Kind == latex.Words && a.Items[len(a.Items)-1].Kind != latex.Words
}

// boxed is the content of the last box, without boxes around it.
func boxed(text string, boxes []scoring.Box, several bool) answer {
	last := boxes[len(boxes)-1]
	if last.Open {
		return answer{note: "the last box does not end"}
	}
	joined := false
	for tried := 1; ; tried++ {
		joined = len(boxes) > 1 && listed(text[boxes[len(boxes)-2].To:last.From])
		if joined || statesBox(text, last) {
			break
		}
		if boxes = boxes[:len(boxes)-1]; len(boxes) == 0 || tried == mostWords {
			return answer{note: "no box is stated as the answer"}
		}
		last = boxes[len(boxes)-1]
	}
	content := unboxed(text[last.From:last.To])
	note := ""
	if len(boxes) > 1 {
		if several {
			return answer{text: together(text, boxes, func(between string) bool { return !strings.Contains(between, "\n") })}
		}
		if joined {
			return answer{text: together(text, boxes, listed)}
		}
		k := key(content)
		for _, b := range boxes[:len(boxes)-1] {
			if earlier := text[b.From:b.To]; earlier != content && key(earlier) != k {
				note = "several boxes: the last was read"
				break
			}
		}
	}
	return answer{content, note}
}

// statesBox tells whether the words around a box, or around the formula that it ends,
// leave its content the answer.
func statesBox(text string, b scoring.Box) bool {
	line := text[max(0, b.From-longestTail):b.From]
	line = line[:max(0, strings.LastIndexByte(line, '\\'))]
	before, behind := line, strings.TrimLeft(text[b.To+1:min(len(text), b.To+longestTail)], " }*")
	for _, d := range delimiters[1:] {
		from := strings.LastIndex(line, d[0])
		if d[0] == "$" && (strings.Count(line, "$")-strings.Count(line, `\$`))%2 == 1 || d[0] != "$" && from > strings.LastIndex(line, d[1]) {
			before = line[:from]
			_, behind, _ = strings.Cut(behind, d[1])
		}
	}
	return words.StatesBox(before, strings.TrimLeft(behind, " $}*\n"), strings.HasSuffix(strings.TrimRight(line[len(before):], " "), "="))
}

// unboxed takes off a box that holds all of a text.
func unboxed(text string) string {
	for range 4 {
		trimmed := strings.TrimSpace(text)
		if !strings.HasPrefix(trimmed, `\boxed`) && !strings.HasPrefix(trimmed, `\fbox`) {
			return text
		}
		boxes := scoring.Boxes(trimmed)
		if len(boxes) != 1 || boxes[0].Open || boxes[0].To != len(trimmed)-1 {
			return text
		}
		text = trimmed[boxes[0].From:boxes[0].To]
	}
	return text
}

// together joins the last boxes, as far back as what is between them goes on.
func together(text string, boxes []scoring.Box, on func(between string) bool) string {
	first := len(boxes) - 1
	for first > 0 && len(boxes)-first < maxItems && on(text[boxes[first-1].To:boxes[first].From]) {
		first--
	}
	var contents []string
	for _, b := range boxes[first:] {
		contents = append(contents, unboxed(text[b.From:b.To]))
	}
	return strings.Join(contents, ", ")
}

// listed tells whether nothing but a comma or a word between two boxes or formulas
// makes a list of them.
func listed(between string) bool {
	return len(between) <= 60 && listing.MatchString(between)
}

// idle is what says nothing between two answers of a list.
const idle = `(?:[\s$*{}]|\\text|\\q?quad|\\[,;: ()\[\]]|\\boxed|\\fbox)*`

var listing = regexp.MustCompile(`^(?i)` + idle + `(?:[,;]|[,;]?` + idle + `(?:and|or))` + idle + `$`)
