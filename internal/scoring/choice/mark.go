package choice

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// mark is a letter by itself, which may name an option.
type mark struct {
	letter   byte // upper-case
	lower    bool // it is lower-case in the text
	closed   bool // a bracket, a quote or markup ends it: "(C)", "**C**"
	from, to int  // of the letter and what closes it
}

// markAt is the mark at i, after what may open it.
func markAt(s string, i int) (mark, bool) {
	i = skipOpeners(s, i)
	if i == len(s) || !isLetter(s[i]) {
		return mark{}, false
	}
	to := skipClosers(s, i+1)
	if r, _ := utf8.DecodeRuneInString(s[to:]); wordy(r) || r == '{' || r == '^' { // C_{60}
		return mark{}, false
	}
	if strings.IndexByte(s[i:to], '\'') >= 0 && !strings.ContainsAny(s[max(0, i-8):i], "'`") { // a prime: A'
		return mark{}, false
	}
	return mark{letter: upper(s[i]), lower: s[i] >= 'a', closed: to > i+1, from: i, to: to}, true
}

// stands tells whether what follows a mark leaves it the name of an option:
// "C.", "C because", "(C) red", but not "C = 5", "C-14", "A plane", "B cells",
// "E. coli" or "C?".
func (m mark) stands(s string) bool {
	rest := strings.TrimLeft(s[m.to:], " \t")
	parted := len(rest) < len(s)-m.to
	switch {
	case !m.closed && m.ends(s):
		return true
	case rest == "":
		return true
	case rest[0] == '\\' && !strings.HasPrefix(rest, `\\`) && opener(rest) == 0: // \times
		return false
	}
	r, _ := utf8.DecodeRuneInString(rest)
	switch {
	case strings.ContainsRune("=+*/^<>|?×·≈≤≥→'", r) && !strings.HasPrefix(rest, "</"):
		return false // of a formula, or a question
	case m.closed: // but (R)-butanol and \mathbf{E}(x)
		return parted || strings.IndexByte("-([", rest[0]) < 0
	case !parted:
		return false
	case !wordy(r), !unicode.IsLower(r) && m.letter != 'A' && m.letter != 'I':
		return true
	}
	// An article, a pronoun or a part of a name, unless a word follows that goes
	// with none of them.
	return oneOf(word(rest, 0), "is", "and", "or", "not", "but", "rather", "because", "since", "as", "due", "with", "which",
		"for", "based", "given", "although", "though", "while", "whereas", "so")
}

// ends tells whether the end of the text or of a line follows, or punctuation
// that sets a name apart, which it does not in "E. coli".
func (m mark) ends(s string) bool {
	if !m.apart(s) {
		return false
	}
	rest, point := strings.CutPrefix(s[m.to:], ".")
	w := word(strings.TrimLeft(rest, " \t"), 0)
	return !point || w == "" || w[0] < 'a' || oneOf(w, "the", "a", "an", "it", "this", "because", "since", "as", "not", "all", "both", "none")
}

// apart tells whether the end of the text or of a line follows, or punctuation
// before another word. "C.5" and "A.M." are not set apart.
func (m mark) apart(s string) bool {
	rest := s[m.to:]
	if rest == "" || rest[0] == '\n' || rest[0] == '\r' {
		return true
	}
	switch {
	case strings.IndexByte(".,:;!)", rest[0]) >= 0:
		if len(rest) == 1 {
			return true
		}
		r, _ := utf8.DecodeRuneInString(rest[1:])
		return !wordy(r) || isLetter(rest[1]) && len(rest) > 2 && isLetter(rest[2])
	case rest[0] == ' ' || rest[0] == '\t':
		rest = strings.TrimLeft(rest, " \t")
		return rest == "" || rest[0] == '\n' || rest[0] == '\r' || strings.HasPrefix(rest, "- ")
	}
	if after, is := strings.CutPrefix(rest, "–"); is { // C–H
		return !wordyAt(after, 0)
	}
	for _, sign := range [...]string{"<", "—", `\\`, `\quad`, `\qquad`, "。", "，"} {
		if strings.HasPrefix(rest, sign) {
			return true
		}
	}
	return false
}

// joined reports whether another letter is named next to a mark, as in "A or C",
// "A, maybe C", "A/C", "A (and C)", "A–C", "A C".
func (m mark) joined(s string) bool {
	i, joint := skipJoints(s, m.to)
	if w := word(s, i); oneOf(w, "option", "choice", "answer") {
		i += len(w)
	}
	next, ok := markAt(s, i)
	if !ok || next.lower || next.letter == m.letter || !joint && (m.closed || i == m.to || next.letter == 'A' || next.letter == 'I') {
		return false
	}
	if next.closed || next.ends(s) || strings.HasPrefix(s[next.to:], "?") {
		return true
	}
	_, more := skipJoints(s, next.to) // else it begins something else: "C, A plane"
	return more
}

// skipJoints is the place after what may join two letters, and whether there is
// more than space.
func skipJoints(s string, i int) (int, bool) {
	joint := false
	for i < len(s) {
		switch w := word(s, i); {
		case joins(w):
			joint, i = true, i+len(w)
		case oneOf(w, "as", "along", "together"):
			n := idiom(s[i:])
			if n == 0 {
				return i, joint
			}
			joint, i = true, i+n
		case s[i] == '(' && i+1 < len(s) && joins(word(s, i+1)):
			i++
		case strings.HasPrefix(s[i:], "–"), strings.HasPrefix(s[i:], "—"):
			joint, i = true, i+len("–")
		case strings.HasPrefix(s[i:], "- "):
			joint, i = true, i+len("- ")
		case s[i] == ',' || s[i] == '/' || s[i] == '&' || s[i] == ';':
			joint, i = true, i+1
		case s[i] == ' ' || s[i] == '\t' || s[i] == '\\' && i+1 < len(s) && s[i+1] == ' ':
			i++
		case opener(s[i:]) > 1: // \text{ and }
			i += opener(s[i:])
		case s[i] == '}' || s[i] == '\\':
			i++
		default:
			return i, joint
		}
	}
	return i, joint
}

// joins tells whether a word may stand between letters that are both named.
func joins(w string) bool {
	return oneOf(w, "and", "or", "nor", "perhaps", "maybe", "possibly", "probably", "even", "also", "plus")
}

// idiom is the length of several words that join two letters.
func idiom(s string) int {
	for _, words := range [...]string{"as well as ", "along with ", "together with "} {
		if len(s) > len(words) && strings.EqualFold(s[:len(words)], words) {
			return len(words)
		}
	}
	return 0
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// wordy tells what may be part of a word or a number.
func wordy(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		c -= 'a' - 'A'
	}
	return c
}

// word is the run of ASCII letters at i, which other letters do not continue.
func word(s string, i int) string {
	end := i
	for end < len(s) && isLetter(s[end]) {
		end++
	}
	return s[i:end]
}

// oneOf tells whether a word is one of others, which are in lower case.
func oneOf(w string, others ...string) bool {
	for _, other := range others {
		if len(w) == len(other) && w != "" && w[0]|0x20 == other[0] && strings.EqualFold(w, other) {
			return true
		}
	}
	return false
}

// skipOpeners is the place after space and what may open a mark: brackets,
// quotes, markdown, and LaTeX such as $, \( and \text{.
func skipOpeners(s string, i int) int {
	for i < len(s) {
		n := opener(s[i:])
		if n == 0 && strings.IndexByte(" \t\r\n", s[i]) >= 0 {
			n = 1
		}
		if n == 0 {
			break
		}
		i += n
	}
	return i
}

// opener is the length of what may open a mark at the beginning of s.
func opener(s string) int {
	if s[0] == '<' {
		for _, tag := range tags {
			if strings.HasPrefix(s[1:], tag) {
				return 1 + len(tag)
			}
		}
		return 1
	}
	if strings.IndexByte("*_$([{\"'`~", s[0]) >= 0 {
		return 1
	}
	for _, quote := range [...]string{"“", "‘", "«", "「"} {
		if strings.HasPrefix(s, quote) {
			return len(quote)
		}
	}
	if s[0] != '\\' || len(s) == 1 {
		return 0
	}
	if strings.IndexByte("([ ,;:!{", s[1]) >= 0 {
		return 2
	}
	name := word(s, 1)
	switch {
	case name == "":
		return 0
	case oneOf(name, "left", "quad", "qquad", "displaystyle", "bf", "rm"):
		return 1 + len(name)
	case strings.HasPrefix(s[1+len(name):], "{") && font(name):
		return 2 + len(name)
	}
	return 0
}

// font tells whether a macro of LaTeX changes how its argument looks alone.
func font(name string) bool {
	return strings.HasPrefix(name, "text") || strings.HasPrefix(name, "math") ||
		oneOf(name, "boxed", "fbox", "mbox", "emph", "boldsymbol", "bm", "underline")
}

// skipClosers is the place after what may close a mark.
func skipClosers(s string, i int) int {
	for i < len(s) {
		n := closer(s[i:])
		if n == 0 {
			break
		}
		i += n
	}
	return i
}

// tags are those of HTML that change how a letter looks alone.
var tags = [...]string{"b>", "strong>", "i>", "em>", "u>"}

func closer(s string) int {
	if rest, is := strings.CutPrefix(s, "</"); is {
		for _, tag := range tags {
			if strings.HasPrefix(rest, tag) {
				return 2 + len(tag)
			}
		}
		return 0
	}
	if strings.IndexByte("*_$)]}>\"'`", s[0]) >= 0 {
		return 1
	}
	for _, long := range [...]string{`\)`, `\]`, `\}`, `\right)`, `\right]`, "”", "’", "»", "」"} {
		if strings.HasPrefix(s, long) {
			return len(long)
		}
	}
	return 0
}

// blank tells whether a text holds nothing but space.
func blank(s string) bool { return strings.TrimSpace(s) == "" }
