package choice

import (
	"strings"
	"unicode/utf8"
)

// phrase reads the last phrase that says which option is right by its letter,
// and the last that says it by its text.
func (s *Scorer) phrase(text string) (byLetter, byText reading) {
	for from, to := lastNoun(text, len(text)); to > 0; from, to = lastNoun(text, from) {
		if at := claim(text, from, to); at > 0 {
			letter, says := s.claimed(text, at)
			if byText.open() {
				byText = says
			}
			if !letter.open() {
				return letter, byText
			}
		}
		m, ok := heading(text, from, to)
		if !ok {
			m, ok = before(text, from)
		}
		if !ok {
			m, ok = named(text, from, to)
		}
		switch {
		case ok && m.joined(text):
			return ambiguous, byText
		case ok:
			return s.settle(m.letter), byText
		}
	}
	return byLetter, byText
}

// claimed is what a claim, which ends at a place, says of options: a letter, if
// it does, and a text.
func (s *Scorer) claimed(text string, at int) (byLetter, byText reading) {
	i := skipFillers(text, at)
	letter, n, end := s.optionAt(text, skipOpeners(text, at))
	if n == 0 {
		letter, n, end = s.optionAt(text, i)
	}
	byText = said(letter, n)
	if n == 1 && s.contradicts(text[end:], letter) {
		return ambiguous, byText
	}
	m, ok := markAt(text, i)
	if !ok || m.lower {
		return reading{}, byText
	}
	if n == 1 && letter != m.letter { // "E. coli" is the text of another
		return byText, byText
	}
	after := len(text) - len(afterLabel(text, m))
	other, n, _ := s.optionAt(text, after)
	if n > 0 && text[after] == '\n' { // another line speaks of something else
		n = 0
	}
	switch {
	case m.joined(text) && !enumerates(text, at, m):
		return ambiguous, byText
	case n == 1 && other != m.letter: // "F) Grape", which is G
		return ambiguous, byText
	case (m.stands(text) || n == 1) && !enumerates(text, at, m):
		return s.settle(m.letter), byText
	}
	return reading{}, byText
}

// contradicts tells whether the text of an option is followed by the letter of
// another in brackets.
func (s *Scorer) contradicts(rest string, letter byte) bool {
	rest = strings.TrimLeft(rest[skipClosers(rest, 0):], " \t")
	if rest == "" || rest[0] != '(' {
		return false
	}
	m, ok := markAt(rest, 0)
	return ok && !m.lower && m.closed && m.letter != letter && int(m.letter-'A') < s.options
}

// said is the reading of a text that n options have, one of them of this letter.
func said(letter byte, n int) reading {
	switch n {
	case 0:
		return reading{}
	case 1:
		return reading{letter: letter}
	}
	return reading{note: noteTexts, ends: true}
}

// wordyBefore tells whether a letter or a digit is before i.
func wordyBefore(s string, i int) bool {
	r, _ := utf8.DecodeLastRuneInString(s[:i])
	return wordy(r)
}

func wordyAt(s string, i int) bool {
	r, _ := utf8.DecodeRuneInString(s[i:])
	return wordy(r)
}

// skipFillers is the place after words between a claim and what is claimed.
func skipFillers(s string, i int) int {
	for range 8 {
		i = skipOpeners(s, i)
		rest := strings.TrimLeft(s[i:], ":,：")
		i = len(s) - len(rest)
		w := word(rest, 0)
		if !oneOf(w, "the", "option", "choice", "letter", "answer", "therefore", "thus", "then", "hence", "indeed", "clearly", "definitely", "most", "likely", "actually", "simply", "probably") {
			break
		}
		i += len(w)
	}
	return i
}

// before is the letter in "C is the correct answer", of which the noun begins at
// from.
func before(s string, from int) (mark, bool) {
	w, i := wordBefore(s, from)
	if !oneOf(w, "correct", "right", "best") {
		return mark{}, false
	}
	the, i := wordBefore(s, i)
	is, i := wordBefore(s, i)
	if !oneOf(the, "the", "my") || !oneOf(is, "is") {
		return mark{}, false
	}
	end := len(strings.TrimRight(s[:i], " \t*_$)]}\"'`"))
	if end == 0 || end == i || !isLetter(s[end-1]) || wordyBefore(s, end-1) {
		return mark{}, false
	}
	w, _ = wordBefore(s, end-1)
	m, ok := markAt(s, end-1)
	return m, ok && !m.lower && !oneOf(w, "and", "or", "why") && !denied(s, end-1)
}

// named is the letter in "option C is correct", of which the noun is at from to
// to, at the end of a text. Elsewhere it may be one step of many.
func named(s string, from, to int) (mark, bool) {
	if len(s)-to > 100 {
		return mark{}, false
	}
	m, ok := markAt(s, to)
	w, _ := wordBefore(s, from)
	return m, ok && !m.lower && correct(s[m.to:]) && !oneOf(w, "or", "and") && !denied(s, from)
}

// wordBefore is the word before i with spaces and markup between, and its place;
// none if something else is there.
func wordBefore(s string, i int) (string, int) {
	for i > 0 && (s[i-1] == ' ' || strings.IndexByte("\t*_([\"$", s[i-1]) >= 0) {
		i--
	}
	from := i
	for from > 0 && isLetter(s[from-1]) {
		from--
	}
	return s[from:i], from
}
