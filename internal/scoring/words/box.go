package words

import (
	"regexp"
	"slices"
	"strings"
)

// Bounds, in bytes, of the sentence before a box, and of what behind it may take it back.
const (
	sentence = 400
	remark   = 120
)

// statesBox says whether the words around a box leave its content the answer, or the
// equation that it ends. An author who draws a box means it: only what denies or doubts
// it counts, what bounds or changes it if the statement speaks of the answer or has no
// verb, and what calls it wrong behind it. A heading and what ends in a colon do nothing.
func statesBox(before, behind string, equation bool) bool {
	before = before[max(0, len(before)-sentence):]
	if strings.Contains(before, ">") {
		before = markup.ReplaceAllString(before, " ")
		if tags := tag.FindAllStringIndex(before, -1); tags != nil {
			before = before[tags[len(tags)-1][1]:]
		}
	}
	if i := strings.LastIndex(before, "\n#"); i >= 0 {
		_, before, _ = strings.Cut(before[i+1:], "\n")
	}
	for _, end := range [...]string{". ", "? ", "! ", "; ", "\n\n"} {
		before = before[strings.LastIndex(before, end)+1:]
	}
	behind, _, _ = strings.Cut(behind[:min(len(behind), remark)], "\n")
	behind = tag.ReplaceAllString(behind, " ")
	return introducesBox(statement(tokens(before), equation), equation) && !callsWrong(tokens(behind)) && !alternative.MatchString(behind)
}

// tag is one of XML, as of <answer>, and begins a statement of its own unless it is markup of HTML
// within a line. Nor is an arrow a comparison.
var (
	tag    = regexp.MustCompile(`</?[A-Za-z]\w*>`)
	markup = regexp.MustCompile(`</?(?:b|i|u|em|strong|mark|span|code)>|-+>`)
)

// alternative begins another answer behind a box that is as good, or makes another of it: or maybe 8,
// million, or more.
var alternative = regexp.MustCompile(`(?i)^[ $)]*(?:(?:hundred|thousand|million|billion|trillion|dozen)s?\b|or (?:more|less|fewer|greater|higher|above|below)\b|\+[ $)]*(?:[.,]|$))|^[ $)]*[,;]?[ $(]*(?:or (?:maybe|perhaps|possibly|probably)\b|(?:maybe|perhaps|possibly|probably) [ $*(]*(?:\\f?boxed|-?\d))`)

// introducesBox does so for the words before a box.
func introducesBox(all []string, equation bool) bool {
	n := len(all)
	for i := range max(0, n-1) {
		if others(all[:i+1], all[i+1]) { // others say
			return false
		}
	}
	switch {
	case n == 0, all[n-1] == ":":
		return true
	case all[n-1] == "but", n > 1 && all[n-2] == "rather" && all[n-1] == "than": // anything but, 13 rather than
		return false
	}
	if !anyOf(all, open) && (!equation && !anyOf(all, Link, Modal) || slices.Contains(all, "answer")) {
		return introduced(all, equation) == Stated
	}
	for i, token := range all[1:] {
		if before := role(all[i]); role(token) == Thinks && before == Denies || token == "doubt" && before == Subject { // I don't think it is
			return false
		}
	}
	for _, token := range slices.Backward(all) {
		switch r := role(token); {
		case r == Denies, r == Doubts && token != "or" && token != "if" && token != "unless":
			return false
		case r != Plain, token == "and", strings.HasPrefix(token, "solution"):
			return true
		}
	}
	return true
}

// callsWrong reports whether the text behind a box takes it back: is wrong, ? No, or that is
// not right. A remark with other words in it does not: this is wrong for x = 2.
func callsWrong(all []string) bool {
	other := false // the sentence speaks of something else: the other root, -2, is extraneous
	for said := true; ; said = false {
		end := part(all)
		phrase := all[:end]
		unknown := slices.ContainsFunc(phrase, func(t string) bool { return !Of(t).In(Plain | Link | Subject | Denies | Refutes | Approves) })
		other = other || unknown && end > 1
		checks := end+1 < len(all) && all[end+1] == "let" // Wait, let me check it
		if !other && !unknown && !checks && contradicts(phrase, Refutes) {
			return true
		}
		switch {
		case end == len(all):
			return false
		case said && end < 2 && all[end] == "?": // and not: Shall I explain it?
			return true
		case ends(all[end]):
			other = false
		}
		all = all[end+1:]
	}
}

// Contradicts reports whether a remark behind a verdict takes it back or leaves it open: no,
// not equal, partly, but not "not wrong".
func Contradicts(remark string) bool { return contradicts(tokens(remark), Contrary) }

// contradicts does so for tokens; words of the class wrong contradict by themselves.
func contradicts(all []string, wrong Class) bool {
	for i, token := range all {
		no := token == "no" || token == "nope" || len(all) == 1 && role(token) == Denies
		switch behind := all[i+1:]; {
		case no && (len(behind) == 0 || isBreak(behind[0]) || ends(behind[0])),
			token == "thought" && i > 0 && all[i-1] == "second",
			Of(token).In(wrong) && !(i > 0 && role(all[i-1]) == Denies),
			role(token) == Denies && !no && slices.ContainsFunc(behind[:min(2, len(behind))], func(t string) bool { return Of(t).In(Approves) }):
			return true
		}
	}
	return false
}
