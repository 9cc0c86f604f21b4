package words

import (
	"slices"
	"strings"
)

// near is how many bytes before a value and behind it are looked at.
const near = 400

// Stance is what a text says of a value in it.
type Stance uint8

// The stances of a text.
const (
	Stated  Stance = iota // it is the answer
	Denied                // it is not: not 7, but perhaps another value beside it
	Neither               // something else is: at most 7, half of 7, maybe 7
)

// States reads the words around the value text[from:to], and says whether the
// text states it.
//
// Before the value the words count back to the beginning of its statement. Behind
// "is" each of them must be in the table, so that an unknown word counts against
// the value; elsewhere verbs and nouns are not known. Behind the value a noun may
// follow, and then whatever does not take the value back.
func States(text string, from, to int) Stance {
	before := text[max(0, from-near):from]
	for _, opening := range [...]string{"$", `\(`, `\[`} {
		if rest := strings.TrimRight(before, " *\n{"); strings.HasSuffix(rest, opening) && strings.Count(rest, opening)%2 == 1 {
			before = strings.TrimRight(strings.TrimRight(rest, "$"), `\([`)
			break
		}
	}
	behind := strings.TrimLeft(text[to:min(len(text), to+near)], " }*$\n")
	if to > 0 && strings.HasSuffix(text[:to], ".") {
		behind = ". " + behind
	}
	for _, closing := range [...]string{`\)`, `\]`} {
		behind = strings.TrimPrefix(behind, closing)
	}
	if stance := introduced(tokens(before), strings.Contains(text[from:to], "=")); stance != Stated {
		return stance
	}
	return followed(tokens(strings.TrimLeft(behind, "$*}")))
}

// ends tells whether a token ends a sentence.
func ends(token string) bool { return token == "." || token == "?" || token == "!" }

// statement is what belongs to the value behind some tokens: what begins with the
// last conjunction, pronoun or mark before it, unless nothing but words of no
// meaning are between. An equation has its own.
func statement(all []string, equation bool) []string {
	start := len(all)
	said := equation
	for start > 0 {
		token := all[start-1]
		r := roles[token]
		switch {
		case ends(token), token == ";",
			token == "but" && (start < 2 || !slices.Contains([]string{"anything", "everything", "all", "any"}, all[start-2])),
			token == "so" || token == "thus" || token == "hence" || token == "therefore" || token == "consequently":
			return all[start:]
		case r == subject && start < len(all):
			if start > 2 && (roles[all[start-2]] == denies || roles[all[start-3]] == denies) || slices.ContainsFunc(all[:start], isThinking) {
				said = true
				break
			}
			return all[start-1:]
		case said && isBreak(token):
			return all[start:]
		}
		said = said || r == open && !isBreak(token) || r == link
		start--
	}
	return all
}

func isThinking(token string) bool { return roles[token] == thinks }

// isBreak tells whether a token begins another part of a sentence.
func isBreak(token string) bool {
	return len(token) == 1 && strings.Contains(",:()-\n", token) || token == "which" || token == "because" || token == "since" || token == "while" || token == "whereas" || token == "although"
}

// introduced is the stance of the words before a value.
func introduced(all []string, equation bool) Stance {
	if n := len(all); n > 60 {
		all = all[n-60:]
	}
	all = statement(all, equation)
	last := len(all) - 1
	for last >= 0 && roles[all[last]] != link && all[last] != "be" {
		last--
	}
	named := slices.ContainsFunc(all, func(t string) bool { return t == "answer" || t == "ans" || t == "answer's" })
	thought, denied := false, false
	for i, token := range all {
		switch roles[token] {
		case refutes, doubts:
			return Neither
		case denies:
			denied = true
			if last < 0 || i > last-3 || named {
				return Denied
			}
		case modal:
			thought = true
			if i+2 >= last && i < last {
				return Neither
			}
		case thinks:
			if thought || denied {
				return Neither
			}
		case earlier:
			if i+1 < len(all) && (all[i+1] == "answer" || all[i+1] == "guess" || all[i+1] == "solution") || token == "guess" {
				return Neither
			}
		}
	}
	return complement(all[last+1:], last >= 0)
}

// complement is the stance of the words between a value and the link before it, or
// the beginning of the statement. Behind a link an unknown word counts against the
// value.
func complement(all []string, linked bool) Stance {
	if n := len(all); n > 1 && all[n-1] == "of" && roles[all[n-2]] != plain {
		return Neither
	}
	for i := len(all) - 1; i >= 0; i-- {
		token := all[i]
		switch r := roles[token]; {
		case r == plain || len(token) == 1 && token != value:
		case r == bounds, r == changes, r == pairs && (i == len(all)-1 || linked), r == sorts:
			return Neither
		case linked:
			return Neither
		default:
			return Stated
		}
	}
	return Stated
}

// followed is the stance of the words behind a value.
func followed(all []string) Stance {
	end := 0
	for end < len(all) && !ends(all[end]) && !isBreak(all[end]) && all[end] != ";" && all[end] != "but" && all[end] != "so" {
		end++
	}
	phrase := all[:end]
	if len(phrase) > 0 && (roles[phrase[0]] == link || roles[phrase[0]] >= modal && roles[phrase[0]] != doubts && !contrast(phrase)) {
		if !affirms(phrase) {
			return Neither
		}
		phrase = nil
	}
	for i, token := range phrase {
		switch r := roles[token]; {
		case r == refutes, r == doubts && (i == 0 || i+1 == len(phrase) || isNumber(phrase[i+1]) || roles[phrase[i+1]] == sorts):
			return Neither
		case r == denies:
			if !contrast(phrase[i:]) {
				return Neither
			}
		case r == bounds && i > 0 && slices.ContainsFunc(phrase[:i], noun) && slices.ContainsFunc(phrase[i:], isNumber):
			return retracted(all[end:]) // 7 integers less than 10
		case r != doubts && r != modal && limits(token, phrase[i+1:]):
			return Neither
		case r == link || r == open && participle(token):
			return retracted(all[end:])
		}
	}
	return retracted(all[end:])
}

// affirms tells whether a predicate says that the value before it is the answer.
func affirms(predicate []string) bool {
	return !slices.ContainsFunc(predicate, func(t string) bool {
		return roles[t] != plain && roles[t] != link && t != "minimum" && t != "maximum" && t != "true" && t != "valid"
	})
}

// contrast tells whether a denial is of another value: not 8, rather than 8.
func contrast(all []string) bool {
	for _, token := range all {
		if isNumber(token) {
			return true
		}
		if r := roles[token]; r != denies && r != plain && token != "than" {
			return false
		}
	}
	return false
}

// retracted is the stance of what follows the phrase with a value: whether it takes
// the value back.
func retracted(all []string) Stance {
	first := true // in the sentence of the value
	for len(all) > 0 {
		if ends(all[0]) {
			if all[0] == "?" && first {
				return Neither
			}
			first = false
		}
		all = all[1:]
		end := 0
		for end < len(all) && !ends(all[end]) && !isBreak(all[end]) && all[end] != ";" && all[end] != "but" {
			end++
		}
		if remark := all[:end]; takesBack(remark, first) || first && end > 0 && end < len(all) && false {
			return Neither
		}
		all = all[end:]
	}
	return Stated
}

// takesBack tells whether a remark behind an answer takes it back: which is wrong,
// or 8, at most, not so. One in the same sentence may do so without a verb.
func takesBack(remark []string, same bool) bool {
	for len(remark) > 0 && (remark[0] == "and" || remark[0] == "but" || remark[0] == "which" || roles[remark[0]] == plain || roles[remark[0]] == subject) {
		remark = remark[1:]
	}
	if len(remark) == 0 {
		return false
	}
	linked := false
	for len(remark) > 0 && (roles[remark[0]] == link || roles[remark[0]] == plain) {
		linked = linked || roles[remark[0]] == link
		remark = remark[1:]
	}
	if len(remark) == 0 {
		return false
	}
	switch r := roles[remark[0]]; {
	case r == refutes:
		return true
	case r == denies:
		return !contrast(remark) && (!linked || len(remark) > 1 && (roles[remark[1]] == thinks || roles[remark[1]] == plain)) && len(remark) < 4
	case r == doubts, r == bounds:
		return same && !linked
	}
	return remark[0] == "too" || remark[0] == "impossible"
}

// Introduces tells whether words say nothing but that a value follows: the answer is.
func Introduces(label string) bool {
	all := tokens(label)
	n := len(all)
	return n > 0 && introduced(all, false) == Stated && (roles[all[n-1]] == link || all[n-1] == "ratio" || affirms(all))
}
