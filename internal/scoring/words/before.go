package words

import (
	"regexp"
	"slices"
	"strings"
)

// near is how many bytes before a value and behind it are looked at.
const near = 400

// Stance is the attitude of a text to a value in it.
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
	if labels := answerLine.FindAllStringIndex(before, -1); labels != nil {
		before = before[labels[len(labels)-1][1]:]
	}
	all, inside := tokens(strings.TrimRight(before, "$*")), text[from:to]
	behind := text[to:min(len(text), to+near)]
	if n := len(all); n > 0 && all[n-1] == "," && altogether.MatchString(behind) { // each for $5, $15 in total
		all = nil
	}
	if stance := introduced(all, strings.Contains(inside, "=")); stance != Stated {
		return stance
	}
	if strings.HasPrefix(strings.TrimLeft(behind, "}"), "!") || startsVariable(strings.TrimLeft(behind, "$*}")) {
		return Neither
	}
	rest := strings.TrimLeft(behind, " }*$\n")
	behind, gap := rest, behind[:len(behind)-len(rest)]
	if strings.HasSuffix(inside, ".") || strings.Contains(gap, "\n") && (strings.Contains(gap, "\n\n") || rest != "" && 'A' <= rest[0] && rest[0] <= 'Z') {
		behind = ". " + behind
	}
	return followed(tokens(behind))
}

// answerLine is the label of a statement of its own, whatever the line before says, unless that ends in
// a colon: "Answer: 7", or "#### 7" as in GSM8K; or a heading that is all of a line.
var answerLine = regexp.MustCompile(`(?i)[^:\s]\s*\n(?:[\s*#>_-]*(?:\d+[.)] )?\**(?:the )?(?:final |correct )?answer\**:|\s*#### )|(?m:^)(?:#+ *|\*\*)(?:final )?answer:?\**:?\s*\n`)

// altogether makes what is before it a sum.
var altogether = regexp.MustCompile(`^(?: [a-z]+)? (?:in total|in all|altogether)\b`)

// Names reports whether words may be the name of the value that follows them.
func Names(label string) bool {
	all := tokens(label)
	return len(all) > 0 && introduced(all, false) == Stated
}

// NamesEquation reports whether words may be the name of the equation that follows them: line,
// the equation. Before a number they would be its place.
func NamesEquation(label string) bool {
	all := tokens(label)
	last := len(all) - 1
	return last >= 0 && (all[last] == "line" || all[last] == "equation") && introduced(all[:last], false) == Stated
}

// Introduces reports whether words say nothing but that a value follows: the answer is.
func Introduces(label string) bool {
	all := tokens(label)
	return Names(label) && (role(all[len(all)-1]) == Link || all[len(all)-1] == "ratio" || affirms(all))
}

// statement returns the tokens of the statement about the value behind some tokens. It
// begins with the last conjunction, pronoun or mark before the value, unless only words
// without meaning are between. An equation behind a comma has its own.
func statement(all []string, equation bool) []string {
	n := len(all)
	said := equation && n > 1 && all[n-1] == "," && (role(all[n-2]) == open || role(all[n-2]) == sorts)
	for start := n; start > 0; start-- {
		token, earlier := all[start-1], all[:start-1]
		switch r := role(token); {
		case ends(token), said && isBreak(token), r == Turns && !excepts(earlier, token, start == n):
			return all[start:]
		case token == "\n" && start > 1 && all[start-2] != ":" && slices.Contains(all[start:], "answer"): // another paragraph
			return all[start:]
		case (token == "then" || token == "namely" || token == "total") && start > 1 && isBreak(all[start-2]), token == "rather" && (start == n || all[start] != "than"):
			return all[start:]
		case r == Subject && start < n && !anyOf(earlier[max(0, start-3):], Denies) && !anyOf(earlier, Thinks) && !(start > 1 && slices.Contains(supposes, earlier[start-2])):
			return all[start-1:]
		case r == open, r == Link, r == Subject:
			said = said || !isBreak(token)
		}
	}
	return all
}

// supposes begin a condition: if she had 7.
var supposes = []string{"if", "unless", "whether"}

// excepts reports whether "but" leaves out the value behind it: all but 7.
func excepts(earlier []string, token string, last bool) bool {
	if token != "but" || !last || len(earlier) == 0 {
		return false
	}
	before := earlier[len(earlier)-1]
	return before == "anything" || before == "everything" || !isBreak(before) && !anyOf(earlier, Denies, Modal)
}

// introduced is the stance of the words before a value, which may be an equation.
func introduced(all []string, equation bool) Stance {
	all = statement(all, equation)
	if i := slices.Index(all, "doubt"); i > 0 && (all[i-1] == "no" || all[i-1] == "without") {
		all = slices.Delete(slices.Clone(all), i-1, i+1)
	}
	last := len(all) - 1 // the link
	for last >= 0 && role(all[last]) != Link && all[last] != "be" {
		last--
	}
	name := slices.IndexFunc(all, func(t string) bool { return t == "answer" || t == "ans" })
	if last < name && name+1 < len(all) && !isBreak(all[name+1]) { // the answer ends in
		last = name
	}
	if last > 0 && role(all[last-1]) == bounds {
		return Neither
	}
	unsure, denied := false, false
	for i, token := range all {
		next := ""
		if i+1 < len(all) {
			next = all[i+1]
		}
		switch r := role(token); {
		case r == Refutes, r == Doubts, r == Thinks && (unsure || denied):
			return Neither
		case token == "impossible" && next == "that", token == "apart" && next == "from", token == "used" && next == "to" && i+2 == last, token == "guess" && role(next) == Link:
			return Neither
		case others(all[:i+1], next): // many people answer 7
			return Neither
		case (r == Earlier || token == "first") && (next == "answer" || next == "solution"):
			return Neither
		case r == Modal && i < last && i+2 >= last && (token != "would" || next != "be" || name < 0):
			return Neither
		case r == Denies && (i > last || name >= 0 || !anyOf(all[i+1:last], open, units, sorts)):
			return Denied
		}
		unsure, denied = unsure || role(token) == Modal, denied || role(token) == Denies
	}
	return complement(all[last+1:], last >= 0)
}

// others reports whether a verb says what people other than the author think: people say,
// many students get. But the students get 7 apples each.
func others(subject []string, verb string) bool {
	n := len(subject)
	if last := subject[n-1]; last == "people" || last == "students" {
		n--
		if slices.Contains(opinions, verb) {
			return n == 0 || subject[n-1] != "of" && subject[n-1] != "the"
		}
	}
	return n > 0 && slices.Contains(crowd, subject[n-1]) && (n == 1 || subject[n-2] != "the") &&
		(slices.Contains(opinions, verb) || slices.Contains(results, verb))
}

var (
	crowd    = strings.Fields("many most some others someone")
	opinions = strings.Fields("say says said claim claims think thinks guess guesses")
	results  = strings.Fields("answer answers answered get gets got write writes")
)

// amounts are nouns whose value stands behind "of": a profit of 7.
var amounts = strings.Fields("profit gain loss increase decrease deficit surplus discount balance deposit payment fee bill salary income revenue tip")

// complement is the stance of the words between a value and the link before it, or
// the beginning of the statement. Behind a link an unknown word counts against the
// value.
func complement(all []string, linked bool) Stance {
	n := len(all)
	switch {
	case slices.Index(all, "of") > 0 && all[slices.Index(all, "of")-1] == "out", leaves(all):
		return Neither
	case linked && n == 1 && all[0] == "-",
		n > 2 && all[n-1] == "the" && all[n-2] == "of" && isNumber(all[n-3]), // 6 of the 10
		n > 1 && all[n-1] == "of" && (role(all[n-2]) != Plain && !slices.Contains(amounts, all[n-2]) || all[n-2] == "one"),
		n > 1 && all[n-1] == "with" && linked && all[n-2] != "left":
		return Neither
	}
	beside := false // another value is between
	for i, token := range slices.Backward(all) {
		switch r := role(token); {
		case r == pairs, r == Thinks, r == joins && i > 0 && len(all[i-1]) == 1 && !isBreak(all[i-1]):
			return Neither
		case beside && !linked && r != Plain:
			return Stated
		case r == Plain, r == joins, isBreak(token), len(token) == 1 && token != value, token == "year":
		case linked, r == bounds, r == changes, r == refs, r == sorts, r == Turns:
			return Neither
		case token == value:
			beside = true
		default:
			return Stated
		}
	}
	return Stated
}
