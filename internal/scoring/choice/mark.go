package choice

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"speceval/internal/scoring/words"
)

// mark is a letter by itself in a text, which may name an option.
type mark struct {
	text     string
	letter   byte // upper-case; 0: there is no mark
	lower    bool // it is lower-case in the text
	closed   bool // a bracket, a quote or markup ends it: "(C)", "**C**"
	from, to int  // of the letter and what closes it
}

// markAt is the mark at i, after what may open it.
func markAt(s string, i int) mark {
	i = skipOpeners(s, i)
	if i == len(s) || !isLetter(s[i]) {
		return mark{}
	}
	to := skip(s, i+1, closers)
	if r, _ := utf8.DecodeRuneInString(s[to:]); wordy(r) || r == '{' || r == '^' { // C_{60}
		return mark{}
	}
	if strings.IndexByte(s[i:to], '\'') >= 0 && !strings.ContainsAny(s[max(0, i-8):i], "'`") { // a prime: A'
		return mark{}
	}
	return mark{s, s[i] &^ 0x20, s[i] >= 'a', to > i+1, i, to}
}

// behind is the text behind a mark.
func (m mark) behind() string { return m.text[m.to:] }

// quoted is the text behind a mark and its punctuation: what it may be the letter of.
func (m mark) quoted() string { return strings.TrimLeft(m.behind(), " \t.,:;-–—)") }

// upper reports whether a mark is there, in upper case.
func (m mark) upper() bool { return m.letter != 0 && !m.lower }

// alone reports whether a mark is there, and nothing of meaning behind it.
func (m mark) alone() bool { return m.letter != 0 && bare(m.behind()) }

// stands reports whether what follows a mark leaves it the name of an option:
// "C.", "C because", "(C) red", but not "C = 5", "C-14", "A plane", "B cells",
// "E. coli" or "C?".
func (m mark) stands() bool {
	rest := strings.TrimLeft(m.behind(), " \t")
	parted := len(rest) < len(m.behind())
	switch {
	case !m.closed && m.ends(), rest == "":
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
	}
	// An article, a pronoun or a part of a name, unless a word follows that goes
	// with none of them.
	return !wordy(r) || !unicode.IsLower(r) && m.letter != 'A' && m.letter != 'I' || classOf(word(rest, 0)).In(follows)
}

// isSubject reports whether a word follows a mark that is no article or pronoun
// before it: "C remains", "A remains".
func (m mark) isSubject() bool {
	return strings.HasPrefix(m.behind(), " ") && m.letter != 'I' && (m.letter != 'A' || classOf(word(m.text, m.to+1)).In(verb))
}

// ends reports whether the end of the text or of a line follows, or punctuation
// that sets a name apart, which it does not in "E. coli".
func (m mark) ends() bool {
	if !m.apart() {
		return false
	}
	rest, point := strings.CutPrefix(m.behind(), ".")
	w := word(strings.TrimLeft(rest, " \t"), 0)
	return !point || w == "" || w[0] < 'a' || classOf(w).In(follows|opens|others|joins)
}

// apart reports whether the end of the text or of a line follows, or punctuation
// before another word. "C.5" and "A.M." are not set apart.
func (m mark) apart() bool {
	rest := m.behind()
	after := strings.TrimLeft(rest, " \t")
	switch {
	case after == "" || after[0] == '\n' || after[0] == '\r':
		return true
	case strings.IndexByte(".,:;!)", rest[0]) >= 0:
		r, _ := utf8.DecodeRuneInString(rest[1:])
		return !wordy(r)
	case len(after) < len(rest):
		return strings.HasPrefix(after, "- ")
	}
	return prefix(rest, []string{"<", "—", `\\`, `\quad`, `\qquad`, "。", "，"}) > 0
}

// isLabel reports whether a mark stands before the text of an option: "C) ".
func (m mark) isLabel() bool {
	if after := m.text[m.from+1:]; strings.HasPrefix(after, ".") || strings.HasPrefix(after, ":") {
		return m.apart()
	}
	return m.closed && (m.behind() == "" || strings.IndexByte(" \t\n\r.,:;\\", m.text[m.to]) >= 0)
}

// joined reports whether another letter is named next to a mark, as in "A or C",
// "A, maybe C", "A/C", "A (and C)", "A–C", "A C".
func (m mark) joined() bool {
	i, joint, or := skipJoints(m.text, m.to)
	if w := word(m.text, i); classOf(w).In(noun) {
		i += len(w)
	}
	next := markAt(m.text, i)
	if !next.upper() || next.letter == m.letter || !joint && (m.closed || i == m.to || (next.letter == 'A' || next.letter == 'I') && !next.ends()) {
		return false
	}
	_, more, _ := skipJoints(next.text, next.to) // else it begins something else: "C, A plane"
	return more || next.closed || next.ends() || strings.HasPrefix(next.behind(), "?") || or && next.stands()
}

// skipJoints is the place after what may join two letters, whether there is
// more than space, and whether it says "or".
func skipJoints(s string, i int) (at int, joint, or bool) {
	for {
		it := next(s, i)
		switch {
		case it.class.In(joins):
			or = or || it.class.In(doubts)
		case !is(s[it.from:it.to], ",", "/", "&", ";", "–", "– ", "—", "- ", "as", "well", "along", "together", "with"):
			return it.from, joint, or
		}
		joint, i = true, it.to
	}
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// wordy reports what may be part of a word or a number.
func wordy(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }

// word is the word at i.
func word(s string, i int) string { return s[i:words.Word(s, i)] }
