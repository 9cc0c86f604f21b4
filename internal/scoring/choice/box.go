package choice

import "strings"

// box reads what is in a box. The reading is open if no option is named there.
func (s *Scorer) box(content string) reading {
	content = strings.TrimSpace(content)
	m, ok := markAt(content, 0)
	if ok && bare(content[m.to:]) {
		return s.settle(m.letter)
	}
	if letter, n := s.optionOf(content); n == 1 {
		return reading{letter: letter}
	} else if n > 1 {
		return reading{note: noteTexts, ends: true}
	}
	if at := skipCue(content, 0); at > 0 { // Option C
		m, ok = markAt(content, at)
		ok = ok && !m.lower && m.stands(content)
	} else {
		ok = ok && (m.closed && m.stands(content) || !m.lower && (m.ends(content) || s.quotes(content, m)))
	}
	if ok {
		return s.labelled(content, m)
	}
	if several(content, s.options) {
		return ambiguous
	}
	return s.inBrackets(content)
}

// says tells whether a mark is followed by the text of its option.
func (s *Scorer) says(text string, m mark) bool {
	letter, n := s.optionOf(afterLabel(text, m))
	return n == 1 && letter == m.letter
}

// quotes tells whether a mark is followed by the text of an option.
func (s *Scorer) quotes(text string, m mark) bool {
	_, n := s.optionOf(afterLabel(text, m))
	return n == 1
}

// labelled reads a letter with something after it, as in "C) red".
func (s *Scorer) labelled(text string, m mark) reading {
	if s.says(text, m) {
		return s.settle(m.letter)
	}
	rest := afterLabel(text, m)
	other, ok := markAt(rest, 0) // "B - C"
	if ok && !other.lower && other.letter != m.letter && bare(rest[other.to:]) {
		return ambiguous
	}
	if _, n := s.optionOf(rest); n == 1 || several(text[m.from:], s.options) {
		return ambiguous
	}
	return s.settle(m.letter)
}

// afterLabel is what follows a letter and its punctuation.
func afterLabel(text string, m mark) string {
	return strings.TrimLeft(text[m.to:], " \t.,:;-–—)")
}

// inBrackets reads a letter in brackets at the end, as in "5 m (C)". The
// descriptors of chemistry, such as (R), are beyond the options mostly, and
// nothing then.
func (s *Scorer) inBrackets(content string) reading {
	i := strings.LastIndexByte(content, '(')
	if i <= 0 || strings.IndexByte(" \t{~", content[i-1]) < 0 {
		return reading{}
	}
	m, ok := markAt(content, i)
	if !ok || m.lower || !m.closed || !bare(content[m.to:]) || int(m.letter-'A') >= s.options {
		return reading{}
	}
	return s.settle(m.letter)
}

// bare tells whether nothing of meaning is left after a mark.
func bare(rest string) bool { return strings.Trim(rest, " \t\r\n.,:;}$*)\\") == "" }

// several tells whether a text names several of so many options: joined, as in
// "A and C", or one after the other, as in "A) red, B) blue".
func several(text string, options int) bool {
	label := byte(0)
	for i := 0; i < len(text); i++ {
		if c := text[i]; c < 'A' || int(c-'A') >= options || i > 0 && wordyBefore(text, i) {
			continue
		}
		m, ok := markAt(text, i)
		if !ok {
			continue
		}
		if m.joined(text) {
			return true
		}
		if m.isLabel(text) {
			if label != 0 && label != m.letter {
				return true
			}
			label = m.letter
		}
		i = m.to - 1
	}
	return false
}

// isLabel tells whether a mark stands before the text of an option: "C) ".
func (m mark) isLabel(s string) bool {
	after := s[m.from+1:]
	if strings.HasPrefix(after, ".") || strings.HasPrefix(after, ":") {
		return m.apart(s)
	}
	return m.closed && (m.to == len(s) || strings.IndexByte(" \t\n\r.,:;\\", s[m.to]) >= 0)
}

// skipCue is the place after words such as "Option" or "The correct answer is"
// at i, or 0 if no option is announced there.
func skipCue(s string, i int) int {
	announced := false
	for {
		i = skipOpeners(s, i)
		w := word(s, i)
		switch {
		case oneOf(w, "option", "choice", "answer", "letter"):
			announced = true
		case !oneOf(w, "the", "correct", "right", "best", "final", "is"):
			if !announced {
				return 0
			}
			return i
		}
		i += len(w)
		for i < len(s) && strings.IndexByte(":*} ", s[i]) >= 0 {
			i++
		}
	}
}
