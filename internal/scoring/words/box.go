package words

import (
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
	if i := strings.LastIndex(before, "\n#"); i >= 0 {
		_, before, _ = strings.Cut(before[i+1:], "\n")
	}
	for _, end := range [...]string{". ", "? ", "! ", "; ", "\n\n"} {
		before = before[strings.LastIndex(before, end)+1:]
	}
	behind, _, _ = strings.Cut(behind[:min(len(behind), remark)], "\n")
	return introducesBox(statement(tokens(before), equation), equation) && !callsWrong(tokens(behind))
}

// introducesBox does so for the words before a box.
func introducesBox(all []string, equation bool) bool {
	if n := len(all); n == 0 || all[n-1] == ":" {
		return true
	}
	if !anyOf(all, open) && (!equation && !anyOf(all, Link, Modal) || slices.Contains(all, "answer")) {
		return introduced(all, equation) == Stated
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

// approvals are words whose denial takes an answer back.
var approvals = strings.Fields("correct right answer solution true valid so it")

// callsWrong tells whether the text behind a box takes it back: is wrong, ? No, or
// that is not right. A remark with other words in it does not: this is wrong for x = 2.
func callsWrong(all []string) bool {
	for said := true; ; said = false {
		end := part(all)
		phrase := all[:end]
		if !slices.ContainsFunc(phrase, func(t string) bool {
			r := role(t)
			return r != Plain && r != Link && r != Subject && r != Denies && r != Refutes && !slices.Contains(approvals, t)
		}) {
			denied := anyOf(phrase, Denies)
			approved := slices.ContainsFunc(phrase, func(t string) bool { return slices.Contains(approvals, t) })
			if anyOf(phrase, Refutes) != denied && (!denied || approved || len(phrase) == 1 && !said) {
				return true
			}
		}
		switch {
		case end == len(all):
			return false
		case said && all[end] == "?":
			return true
		}
		all = all[end+1:]
	}
}
