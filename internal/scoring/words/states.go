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
	if to > 0 && text[to-1] == '.' {
		behind = ". " + behind
	}
	for _, closing := range [...]string{`\)`, `\]`} {
		behind = strings.TrimPrefix(behind, closing)
	}
	if stance := introduced(tokens(before), strings.Contains(text[from:to], "=")); stance != Stated {
		return stance
	}
	if next := strings.TrimLeft(text[to:], "$*}"); strings.HasPrefix(next, "!") || len(next) > 0 && strings.IndexByte("bcdefijknopqrtuvwxyzK", next[0]) >= 0 && len(word.FindString(next)) == 1 { // 7!, 7x
		return Neither
	}
	few := text[from:to] == "1" || strings.HasPrefix(text[from:to], "0.") || strings.Contains(text[from:to], "frac") || strings.Contains(text[from:to], "/")
	return followed(tokens(strings.TrimLeft(behind, "$*}")), few)
}

// ends tells whether a token ends a sentence.
func ends(token string) bool { return token == "." || token == "?" || token == "!" || token == ";" }

// isBreak tells whether a token begins another part of a sentence.
func isBreak(token string) bool {
	return len(token) == 1 && strings.Contains(",:()-\n", token) || roles[token] == breaks
}

// part is the length of the part of a sentence that some tokens begin with.
func part(all []string) int {
	for i, token := range all {
		if ends(token) || isBreak(token) || roles[token] == turns {
			return i
		}
	}
	return len(all)
}

// anyOf tells whether one of some tokens has one of some roles.
func anyOf(all []string, of ...role) bool {
	return slices.ContainsFunc(all, func(t string) bool { return slices.Contains(of, roles[t]) })
}

// statement is what belongs to the value behind some tokens: what begins with the
// last conjunction, pronoun or mark before it, unless nothing but words of no
// meaning are between. An equation has its own.
func statement(all []string, equation bool) []string {
	n := len(all)
	said := equation && n > 1 && all[n-1] == "," && (roles[all[n-2]] == open || roles[all[n-2]] == sorts)
	for start := len(all); start > 0; start-- {
		token, earlier := all[start-1], all[:start-1]
		switch r := roles[token]; {
		case ends(token), (token == "then" || token == "namely") && start > 1 && isBreak(all[start-2]), token == "rather" && (start == len(all) || all[start] != "than"), r == turns && !excepts(earlier, token, start == len(all)), said && isBreak(token):
			return all[start:]
		case r == subject && start < len(all) && !anyOf(earlier[max(0, start-3):], denies) && !anyOf(earlier, thinks):
			return all[start-1:]
		case r == open && !isBreak(token), r == link, r == subject:
			said = true
		}
	}
	return all
}

// excepts tells whether "but" leaves the value behind it out: all but 7.
func excepts(earlier []string, token string, last bool) bool {
	if token != "but" || !last || len(earlier) == 0 {
		return false
	}
	before := earlier[len(earlier)-1]
	return before == "anything" || before == "everything" || !isBreak(before) && !anyOf(earlier, denies, modal)
}

// introduced is the stance of the words before a value, which may be an equation.
func introduced(all []string, equation bool) Stance {
	all = statement(all[max(0, len(all)-60):], equation)
	last := len(all) - 1
	for last >= 0 && roles[all[last]] != link && all[last] != "be" {
		last--
	}
	name := slices.IndexFunc(all, func(t string) bool { return t == "answer" || t == "ans" })
	named := name >= 0
	if last < name && name+1 < len(all) && !isBreak(all[name+1]) { // the answer ends in
		last = name
	}
	if last > 0 && roles[all[last-1]] == bounds {
		return Neither
	}
	thought, denied := false, false
	for i, token := range all {
		next := ""
		if i+1 < len(all) {
			next = all[i+1]
		}
		switch r := roles[token]; {
		case r == refutes, r == doubts, token == "used" && next == "to" && i+2 == last, token == "guess" && roles[next] == link:
			return Neither
		case r == denies:
			if denied = true; i > last || named || !anyOf(all[i+1:last], open, units, sorts) {
				return Denied
			}
		case r == modal:
			if thought = true; i+2 >= last && i < last {
				return Neither
			}
		case r == thinks && (thought || denied):
			return Neither
		case (r == earlier || token == "first") && (next == "answer" || next == "solution"):
			return Neither
		}
	}
	return complement(all[last+1:], last >= 0)
}

// complement is the stance of the words between a value and the link before it, or
// the beginning of the statement. Behind a link an unknown word counts against the
// value.
func complement(all []string, linked bool) Stance {
	if n := len(all); linked && n == 1 && all[0] == "-" {
		return Neither
	} else if n > 1 {
		before := all[n-2]
		switch last := all[n-1]; {
		case last == "of" && (roles[before] != plain || before == "one"),
			last == "with" && linked && before != "left":
			return Neither
		}
	}
	beside := false // another value is between
	for i, token := range slices.Backward(all) {
		switch r := roles[token]; {
		case r == pairs, r == thinks, r == joins && i > 0 && len(all[i-1]) == 1 && !isBreak(all[i-1]):
			return Neither
		case beside && !linked && r != plain:
			return Stated
		case r == plain, r == joins, isBreak(token), len(token) == 1 && token != value:
		case r == bounds, r == changes, r == refs, r == sorts, r == turns, linked:
			return Neither
		case token == value:
			beside = true
		default:
			return Stated
		}
	}
	return Stated
}

// followed is the stance of the words behind a value, which few says is no more than one.
func followed(all []string, few bool) Stance {
	end := part(all)
	phrase, rest := all[:end], all[end:]
	if end > 0 && (roles[phrase[0]] == link || roles[phrase[0]] >= modal && roles[phrase[0]] != doubts && !contrast(phrase)) {
		if !affirms(phrase) {
			return Neither
		}
		return retracted(rest)
	}
	if !counted(phrase, few) {
		return Neither
	}
	return retracted(rest)
}

// Limit is what the words behind a number say of it beyond its unit and what it counts:
// at most, plus one, odd. It is "" for a phrase that leaves the number as it is, which
// few says is no more than one.
func Limit(phrase []string, few bool) string {
	if counted(phrase, few) {
		return ""
	}
	return strings.Join(phrase, " ")
}

// counted tells whether the phrase behind a number says no more than what it counts,
// where, or in which unit.
func counted(phrase []string, few bool) bool {
	noun, head := false, true // there was one; no preposition was there
	for i, token := range phrase {
		rest := phrase[i+1:]
		next := rest
		for len(next) > 0 && roles[next[0]] == plain && next[0] != "as" && !isNumber(next[0]) {
			next = next[1:]
		}
		follows := open
		if len(next) > 0 {
			if follows = roles[next[0]]; isNumber(next[0]) || next[0] == "power" {
				follows = changes
			}
		}
		switch r := roles[token]; {
		case r == denies && contrast(phrase[i:]):
			return true
		case r == subject && anyOf(rest, thinks, doubts):
			return false
		case r == link, r == subject, token == "for", token == "as" && len(rest) == 1 && !isNumber(rest[0]), noun && r == open && participle(token), (token == "when" || token == "where") && follows != sorts:
			return true
		case noun && (isNumber(token) || (r == bounds || len(rest) > 0 && rest[0] == "than") && slices.ContainsFunc(rest, isNumber)): // 7 integers less than 10
			return true
		case isNumber(token) && token != "one":
			return false
		case r == pairs || r == joins:
			if follows == changes || follows == sorts || len(next) > 0 && next[0] == "as" || i > 0 && len(rest) == 0 && phrase[i-1] == "and" {
				return false
			}
		case r == sorts, r == open && participle(token), token == "maximum", token == "minimum":
			if !slices.ContainsFunc(rest, isNoun) {
				return false
			}
		case r == doubts && noun && follows == open, r == modal: // 7 apples or pears
		case r >= doubts && r != refs:
			return false
		case r == open && len(token) > 1 && head && !slices.Contains(prepositions, token) && !noun && !few && !isNoun(token) && !slices.ContainsFunc(rest, isNoun): // 7 reciprocal
			return false
		}
		noun = noun || isNoun(token)
		head = head && !slices.Contains(prepositions, token)
	}
	return true
}

// prepositions begin what says more of a noun.
var prepositions = strings.Fields("of in at on for with by from to as per who that after using via once")

// isNoun tells whether a word says what a number counts: a plural, or a unit.
func isNoun(word string) bool {
	word = word[strings.LastIndexByte(word, '-')+1:]
	r := roles[word]
	return r == units || r == open && len(word) < 4 && len(word) > 1 || (r == open || r == plain && len(word) > 5) && len(word) > 2 && strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss")
}

// participle tells whether a word looks as if it said what is done with the number
// before it, or whether that can be.
func participle(word string) bool {
	return len(word) > 5 && (strings.HasSuffix(word, "ed") || strings.HasSuffix(word, "ible"))
}

// isNumber tells whether a token is a number, in digits or as a word.
func isNumber(word string) bool {
	_, named := Number(word)
	return named || word == value
}

// affirms tells whether a predicate says that the value before it is the answer.
func affirms(predicate []string) bool {
	return !slices.ContainsFunc(predicate, func(t string) bool {
		r := roles[t]
		return r != plain && r != link && r != subject && !slices.Contains(affirming, t)
	})
}

// affirming are words of predicates that are neither plain nor links.
var affirming = strings.Fields("true valid first right what get got want wanted need obtain")

// contrast tells whether a denial is of another value: not 8, rather than 8.
func contrast(all []string) bool {
	if len(all) == 0 || !slices.Contains([]string{"not", "never", "rather", "instead", "unlike", "no"}, all[0]) {
		return false
	}
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

// retracted is the stance of what follows a value and its noun: whether it takes the
// value back.
func retracted(all []string) Stance {
	same := true // the sentence of the value
	for len(all) > 0 {
		if same && (all[0] == "?" || all[0] == "otherwise") {
			return Neither
		}
		same = same && !ends(all[0])
		reason, but := roles[all[0]] == breaks && all[0] != "which", all[0] == "but"
		all = all[1:]
		end := part(all)
		if !reason && takesBack(all[:end], same, but) {
			return Neither
		}
		all = all[end:]
	}
	return Stated
}

// takesBack tells whether a remark behind an answer takes it back: which is wrong,
// or 8, but 8, at most, not so. One in the same sentence may do so without a verb.
func takesBack(remark []string, same, but bool) bool {
	linked := false
	if len(remark) > 0 && remark[0] == "actually" && !same {
		return true
	}
	for len(remark) > 0 && (roles[remark[0]] == plain || roles[remark[0]] == subject || roles[remark[0]] == link) && remark[0] != "too" {
		linked = linked || roles[remark[0]] == link
		remark = remark[1:]
	}
	if len(remark) == 0 {
		return false
	}
	switch r := roles[remark[0]]; {
	case but && isNumber(remark[0]):
		return linked || len(remark) == 1
	case r == refutes, remark[0] == "too" && linked, remark[0] == "impossible":
		return true
	case r == denies:
		return !contrast(remark) && (!linked || len(remark) > 1) && len(remark) < 4 && !anyOf(remark[1:], open, sorts, earlier)
	case r == doubts, r == bounds:
		return same && !linked
	}
	return false
}

// Introduces tells whether words say nothing but that a value follows: the answer is.
func Introduces(label string) bool {
	all := tokens(label)
	n := len(all)
	return Names(label) && (roles[all[n-1]] == link || all[n-1] == "ratio" || affirms(all))
}

// Names tells whether words may be the name of the value that follows them.
func Names(label string) bool {
	all := tokens(label)
	return len(all) > 0 && introduced(all, false) == Stated
}

// Counts tells whether the words behind a value begin with what it counts.
func Counts(behind string) bool {
	all := tokens(behind)
	return part(all) == len(all) && slices.ContainsFunc(all, isNoun)
}

// Known tells whether a word in lower case is in the table.
func Known(word string) bool { return roles[word] != open }
