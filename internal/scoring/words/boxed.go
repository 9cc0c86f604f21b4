package words

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"speceval/internal/scoring"
)

// Bounds on how many boxes are tried, and on how many make a list.
const (
	mostTried = 12
	mostBoxes = 60
)

// Boxed is the answer that the boxes of a text state: the content of the last filled box
// that the words around it leave an answer. Boxes of a list belong
// together, with several all of the last line that has one. Content is "" where none
// states an answer, and found false where there is no box. The note is for people.
func Boxed(text string, several bool) (content, note string, found bool) {
	boxes := slices.DeleteFunc(slices.Collect(scoring.Boxes(text)), func(b scoring.Box) bool {
		return !b.Open && strings.TrimSpace(text[b.From:b.To]) == ""
	})
	n := len(boxes)
	switch {
	case n == 0:
		return "", "", false
	case boxes[n-1].Open:
		return "", "the last box does not end", true
	}
	between := func(i int) string { return text[boxes[i-1].To:boxes[i].From] }
	on := func(i int) bool { return Listed(between(i)) }
	last := n - 1
	for (last == 0 || !on(last)) && !states(text, boxes[last]) {
		if last--; last < max(0, n-mostTried) {
			return "", "no box is stated as the answer", true
		}
	}
	if several {
		on = func(i int) bool { return !strings.Contains(between(i), "\n") }
	}
	first := last
	for ; first > 0 && last-first < mostBoxes && on(first); first-- {
	}
	var contents []string
	for _, b := range boxes[first : last+1] {
		contents = append(contents, bare(text[b.From:b.To]))
	}
	if first == last && slices.ContainsFunc(boxes[:last], func(b scoring.Box) bool {
		return strings.TrimSpace(bare(text[b.From:b.To])) != strings.TrimSpace(contents[0])
	}) {
		note = "several boxes: the last was read"
	}
	content = strings.Join(contents, ", ")
	if other := orNumber.FindStringSubmatch(text[boxes[last].To+1:]); other != nil && !strings.Contains(content, ",") {
		content += " or " + other[1]
	}
	return content, note, true
}

// orNumber is another number behind a box that ends the sentence: \boxed{1/2}, or 0.5.
var orNumber = regexp.MustCompile(`^[ $]*,?[ (]*or [ $]*(-?\d+(?:\.\d+)?(?:/\d+)?)[ $)]*(?:\.?\s*$|\. |\.?\n)`)

// What takes a box back behind it: words that say so, with or without another value, and words
// that do so with a value only.
var (
	withdrawn = regexp.MustCompile(`(?i)(?:^|[.!?\n]\s?)[\s$*_]*(?:(?:hmm|no|sorry|oops|actually),? )?(?:scratch that|i take (?:that|it) back|i made an? (?:mistake|error)(?: [a-z]+){0,3}\s*[.:,;!]|ignore the above|the above (?:answer )?is (?:incorrect|wrong))`)
	corrected = regexp.MustCompile(`(?i)(?:^|[.!?\n]\s?)[\s$*_]*(?:(?:hmm|no|wait|sorry),? )?(?:actually|on second thoughts?|edit:|correction:|(?:revised|updated|corrected) (?:final )?answer|upon (?:review|reflection|re-?examination))[*_]*[,:]?[\s*_]*` +
		`(?:(?:it'?s|it is|it should be|(?:the )?(?:correct |right |final )?(?:answer|value|result) (?:is|should be|must be))[:\s*_]*([$(\\-]*\d)|([$(\\-]*\d[\d.,/]*)[$)*]*\.?\s*(?:\n|$))`)
	valued = regexp.MustCompile(`(?i)(?:\bis|\bbe|'s|[:=])[\s*_]*([$(\\-]*\d)`)
)

// TakenBack reports whether the text behind its last box takes that back; value is the text from the
// other value on, "" if none is given.
func TakenBack(text string) (value string, back bool) {
	end, last := 0, max(strings.LastIndex(text, `\boxed`), strings.LastIndex(text, `\fbox`))
	if last < 0 {
		return "", false
	}
	for b := range scoring.Boxes(text[last:]) {
		end = min(len(text), last+b.To+1)
	}
	rest := text[end:min(len(text), end+sentence)]
	if at := corrected.FindStringSubmatchIndex(rest); end > 0 && at != nil {
		return rest[max(at[2], at[4]):], true
	}
	at := withdrawn.FindStringIndex(rest)
	if end == 0 || at == nil {
		return "", false
	}
	if other := valued.FindStringSubmatchIndex(rest[at[1]:]); other != nil {
		return rest[at[1]+other[2]:], true
	}
	return "", true
}

// Final is a final answer.
type Final struct {
	Text, Note string // what was read, and for people where, or why nothing was
	Boxed      bool   // it was in a box
}

// Marked is the final answer that a text marks: what its boxes state, see [Boxed], or its last
// <answer>, unless it is cut short. It is false where it may be found without a mark.
func Marked(text string, cut, several bool) (f Final, ends bool) {
	if content, note, found := Boxed(text, several); found {
		return Final{content, note, true}, true
	} else if cut {
		return Final{Note: "no box, and the response is cut"}, true
	}
	tagged, found := Tagged(text)
	return Final{Text: tagged, Note: "no box: the answer tag or field was read"}, found
}

// Tagged is the content of the last <answer> of a text, or the answer in the JSON object that ends it.
func Tagged(text string) (inside string, found bool) {
	const tag = "<answer>"
	if i := strings.LastIndex(text, tag); i >= 0 {
		inside, _, _ = strings.Cut(text[i+len(tag):], "</answer>")
		return inside, true
	}
	text = strings.TrimRight(text, " \t\r\n`")
	if !strings.HasSuffix(text, "}") {
		return "", false
	}
	m := field.FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	if json.Unmarshal([]byte(m[1]), &inside) != nil {
		inside = m[1] // a number
	}
	return inside, true
}

// field is the answer in a JSON object at the end of a text, which may be fenced.
var field = regexp.MustCompile(`(?i)"(?:final[_ ]?)?answer"\s*:\s*("(?:[^"\\]|\\.)*"|-?[\d.][\w.+-]*)\s*(?:,[^{}]*)?\}$`)

// negated ends with a minus before a box, which no list begins with.
var negated = regexp.MustCompile(`[$=(]\s*[-−]\s*$`)

// states does so for the words around a box, or around the formula that it ends.
func states(text string, b scoring.Box) bool {
	line := text[max(0, b.From-near):b.From]
	line = line[:max(0, strings.LastIndexByte(line, '\\'))]
	if negated.MatchString(line) {
		return false
	}
	before, behind := line, strings.TrimLeft(text[b.To+1:min(len(text), b.To+near)], " }*")
	if open := Formulas(line, 0, func(Formula) bool { return true }); open >= 0 {
		for _, d := range delimiters {
			if outside, is := strings.CutSuffix(line[:open], d[0]); is {
				before = outside
				_, behind, _ = strings.Cut(behind, d[1])
				break
			}
		}
	}
	return statesBox(before, strings.TrimLeft(behind, " $}*\n"), strings.HasSuffix(strings.TrimRight(line[len(before):], " "), "="))
}

// bare takes off a box that holds all of a text.
func bare(text string) string {
	for range 4 {
		trimmed := strings.TrimSpace(text)
		if !strings.HasPrefix(trimmed, `\boxed`) && !strings.HasPrefix(trimmed, `\fbox`) {
			break
		}
		boxes := slices.Collect(scoring.Boxes(trimmed))
		if len(boxes) != 1 || boxes[0].Open || boxes[0].To != len(trimmed)-1 {
			break
		}
		text = trimmed[boxes[0].From:boxes[0].To]
	}
	return text
}

// idle matches marks without a meaning between two answers of a list.
const idle = `(?:[\s$*{}]|\\text|\\q?quad|\\[,;: ()\[\]]|\\boxed|\\fbox)*`

var listing = regexp.MustCompile(`^(?i)` + idle + `(?:[,;]|[,;]?` + idle + `(?:and|or))` + idle + `$`)

// Listed reports whether nothing but a comma or a word between two boxes or formulas
// makes a list of them.
func Listed(between string) bool {
	return len(between) <= 60 && listing.MatchString(between)
}
