package words

import (
	"slices"
	"strings"
)

// followed is the stance of the words behind a value.
func followed(all []string) Stance {
	end := part(all)
	phrase, rest := all[:end], all[end:]
	if end > 0 && slices.Contains(further, phrase[0]) && !slices.Contains(phrase, "than") { // $5 more
		phrase, end = phrase[1:], end-1
	}
	said := end > 0 && (role(phrase[0]) == Link || role(phrase[0]) >= Modal && role(phrase[0]) != Doubts && !contrast(phrase))
	if said && !affirms(phrase) || !said && !counts(phrase) || retracts(rest) {
		return Neither
	}
	return Stated
}

// further says of what a number counts that there is some already.
var further = []string{"more", "fewer", "extra"}

// Limit is the phrase behind a number if it says more than a unit or a noun that is counted:
// at most, plus one, odd; "" if it leaves the number as it is.
func Limit(phrase []string) string {
	if counts(phrase) {
		return ""
	}
	return strings.Join(phrase, " ")
}

// Explains reports whether words in brackets behind a number neither change nor limit it: by symmetry.
func Explains(phrase []string) bool {
	return !slices.ContainsFunc(phrase, func(token string) bool {
		r := role(token)
		return isNumber(token) || r == sorts || r == Modal || r >= Doubts
	})
}

// Counts reports whether the words behind a value are the noun that it counts, or begin a
// remark on it: 12 apples, which is.
func Counts(behind string) bool {
	all := tokens(behind)
	end := part(all)
	if end < len(all) && all[end] == "(" {
		return true
	} else if end < len(all) && all[end] == "," {
		return len(all) > end+1 && slices.Contains(reasons, all[end+1])
	}
	return end == len(all) && (slices.ContainsFunc(all, isNoun) || leaves(all)) || end < len(all) && slices.Contains(reasons, all[end])
}

// leaves reports whether words say of what a number is the rest: 17 left of 20.
func leaves(all []string) bool {
	at := slices.IndexFunc(all, func(t string) bool { return t == "left" || t == "remaining" }) + 1
	if at > 0 && at < len(all) && all[at] == "out" {
		at++
	}
	return at > 0 && at < len(all) && (all[at] == "of" || all[at] == "from")
}

// reasons begin a remark on a value.
var reasons = []string{"which", "because", "since"}

// counts reports whether the phrase behind a number only names the counted things, their
// place, or a unit.
func counts(phrase []string) bool {
	noun := false // there was one
	for i, token := range phrase {
		rest := phrase[i+1:]
		follows := ahead(rest)
		switch r := role(token); {
		case r == Subject && anyOf(rest, Thinks, Doubts):
			return false
		case i == 0 && leaves(phrase[:min(3, len(phrase))]):
			return true
		case r == Denies && contrast(phrase[i:]), r == Link, r == Subject, token == "for", noun && r == open && participle(token):
			return true
		case token == "as" && len(rest) == 1 && !isNumber(rest[0]), (token == "when" || token == "where") && follows != sorts && !slices.Contains(rest, token):
			return true
		case noun && (isNumber(token) || (r == bounds || len(rest) > 0 && rest[0] == "than") && slices.ContainsFunc(rest, isNumber)): // 7 integers less than 10
			return true
		case noun && r == changes && i > 1 && phrase[i-1] == "a" && phrase[i-2] == "in": // 12 eggs in a dozen
		case compares(phrase[i:], noun): // 2 more boys than girls, 2 years older than Sam
			return true
		case isNumber(token) && token != "one", token == "times" && len(rest) > 0 && (rest[0] == "the" || rest[0] == "as"),
			r == pairs && len(rest) == 1 && len(rest[0]) == 1 && strings.Contains("xyznkpqr", rest[0]): // 7 times x
			return false
		case noun && (token == "over" || token == "within") && len(rest) > 0 && rest[0] == "the": // 7 apples over the three days
			return true
		case r == pairs || r == joins:
			if follows == changes || follows == sorts || i > 0 && len(rest) == 0 && phrase[i-1] == "and" {
				return false
			}
		case r == sorts, r == open && participle(token), token == "maximum", token == "minimum":
			if !slices.ContainsFunc(rest, isNoun) {
				return false
			}
		case r == Doubts && noun && follows == open, r == Modal, r == refs: // 7 apples or pears
		case r >= Doubts:
			return false
		}
		noun = noun || isNoun(token)
	}
	return true
}

// compares reports whether a phrase compares two things by the number before it and what it counts:
// more boys than girls. A number is no such thing, nor is a part.
func compares(phrase []string, noun bool) bool {
	than := slices.Index(phrase, "than")
	comparative := noun && strings.HasSuffix(phrase[0], "er") || than > 1 && (phrase[0] == "more" || phrase[0] == "fewer" || phrase[0] == "less")
	return comparative && than > 0 && than+1 < len(phrase) && !slices.ContainsFunc(phrase[than:], func(t string) bool {
		return isNumber(t) || len(t) == 1 || role(t) == changes || role(t) == sorts
	})
}

// ahead is the role of the next word with a meaning, changes for a number.
func ahead(rest []string) Class {
	for _, token := range rest {
		if isNumber(token) || token == "power" || token == "as" {
			return changes
		}
		if role(token) != Plain {
			return role(token)
		}
	}
	return open
}

// isNoun reports whether a word may be a noun that a number counts: a plural, or a unit.
func isNoun(word string) bool {
	word = word[strings.LastIndexByte(word, '-')+1:]
	switch r := role(word); {
	case r == units, r == open && (len(word) == 2 || len(word) == 3):
		return true
	case r == open, r == Plain && len(word) > 5:
		return len(word) > 3 && strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss")
	}
	return false
}

// participle reports whether a word looks like a participle, as in 7 removed, or ends in
// -ible.
func participle(word string) bool {
	return len(word) > 5 && (strings.HasSuffix(word, "ed") || strings.HasSuffix(word, "ible"))
}

// affirms reports whether a predicate says that the value before it is the answer.
func affirms(predicate []string) bool {
	return !slices.ContainsFunc(predicate, func(t string) bool {
		r := role(t)
		return r != Plain && r != Link && r != Subject && !slices.Contains(affirming, t)
	})
}

// affirming are words of predicates that are neither plain nor links.
var affirming = strings.Fields("true valid first right what get got want wanted need obtain")

// contrasting begin a denial of another value.
var contrasting = strings.Fields("not never rather instead unlike no")

// contrast reports whether a denial is of another value: not 8, rather than 8.
func contrast(all []string) bool {
	if len(all) == 0 || !slices.Contains(contrasting, all[0]) {
		return false
	}
	for _, token := range all {
		if r := role(token); isNumber(token) || r != Denies && r != Plain && token != "than" {
			return isNumber(token)
		}
	}
	return false
}

// retracts reports whether the text behind a value and its noun takes the value back.
func retracts(all []string) bool {
	same := true // the sentence of the value
	for len(all) > 0 {
		mark := all[0]
		if same && (mark == "?" || mark == "otherwise") {
			return true
		}
		same = same && (!ends(mark) || mark == ";")
		all = all[1:]
		end := part(all)
		if reason := role(mark) == Breaks && mark != "which"; !reason && takesBack(all[:end], same, mark) {
			return true
		}
		all = all[end:]
	}
	return false
}

// takesBack reports whether a remark behind an answer takes it back: which is wrong, or 8,
// but 8, at most, not so. A remark in the same sentence may do so without a verb.
func takesBack(remark []string, same bool, mark string) bool {
	if len(remark) > 0 && remark[0] == "actually" && !same {
		return true
	}
	linked := false
	for len(remark) > 0 && (anyOf(remark[:1], Plain, Subject, Thinks, Link)) {
		linked = linked || role(remark[0]) == Link
		remark = remark[1:]
	}
	if len(remark) == 0 || linked && slices.Contains(remark, "left") { // and there are none left
		return false
	}
	switch r := role(remark[0]); {
	case mark == "but" && isNumber(remark[0]):
		return linked || len(remark) == 1
	case r == Refutes:
		return same || linked || len(remark) < 3
	case r == Denies:
		return !contrast(remark) && (!linked || len(remark) > 1) && len(remark) < 4 && !anyOf(remark[1:], open, sorts, Earlier)
	case remark[0] == "doubt": // which I doubt
		return true
	case r == Doubts, r == bounds:
		return same && !linked && mark != "which"
	}
	return remark[0] == "too" && linked || remark[0] == "impossible"
}
