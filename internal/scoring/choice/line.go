package choice

import "strings"

// lines finds the first and the last line that are not blank, the one before
// the last, and the place of the last; what is not there is empty.
func lines(text string) (first, last, before string, at int) {
	text = strings.TrimRight(text, " \t\r\n")
	at = strings.LastIndexByte(text, '\n') + 1
	last = text[at:]
	if earlier := strings.TrimSpace(text[:at]); earlier != "" {
		first, _, _ = strings.Cut(earlier, "\n")
		before = earlier[strings.LastIndexByte(earlier, '\n')+1:]
	}
	return strip(first), strip(last), strip(before), at
}

// strip takes the marks of headings, lists and quotations off a line.
func strip(line string) string {
	return strings.TrimSpace(strings.TrimLeft(line, "#>- \t✅✔☑→➡\ufe0f"))
}

// line reads what the last line states, or a letter that makes it up, alone or
// with the text of its option, or failing that, the first line, alone.
func (s *Scorer) line(text string) reading {
	first, last, prior, at := lines(text)
	if got := s.amend(text, at, reading{}); !got.open() {
		return got
	}
	m, ok := s.optionMark(last, 0)
	if ok && m.joined(last) {
		return ambiguous
	}
	if alone := ok && bare(last[m.to:]); alone || ok && s.labels(last, m, prior == "") {
		switch {
		case listed(prior, m), undoes(prior):
			return reading{}
		case alone:
			return s.settle(m.letter)
		}
		return s.labelled(last, m)
	}
	if m, ok = s.optionMark(first, 0); ok && !enumerates(text, 0, m) && (bare(first[m.to:]) || m.isLabel(first) && s.labels(first, m, true)) {
		return s.amend(text, strings.Index(text, first)+len(first), s.settle(m.letter))
	}
	return reading{}
}

// optionMark is the mark at i that may name an option: upper-case, or lower-case with nothing behind
// it on its line, and neither the article nor the pronoun unless something closes it, "(a)".
func (s *Scorer) optionMark(text string, i int) (mark, bool) {
	m, ok := markAt(text, i)
	if !ok || !m.lower {
		return m, ok
	}
	rest, _, _ := strings.Cut(text[m.to:], "\n")
	return m, bare(rest) && int(m.letter-'A') < s.options && (m.closed || m.letter != 'A' && m.letter != 'I')
}

// lineMark is the upper-case letter at the beginning of a line.
func lineMark(line string) (mark, bool) {
	m, ok := markAt(line, 0)
	return m, ok && !m.lower
}

// listed reports whether the line before one with a mark names another
// letter first, so that both are of a list.
func listed(before string, m mark) bool {
	it := next(before, 0)
	for it.mark.letter == 0 && it.to < len(before) {
		it = next(before, it.to)
	}
	other := it.mark
	return other.letter != 0 && other.letter != m.letter && (other.isLabel(before) || bare(before[other.to:]))
}

// labels reports whether a line says "C) red". With the options' texts known it must be the
// right one. Else a point is a label only where nothing else is said, for "E. coli lives
// there" may end a longer response. A letter with a reason is a label too, "C because it is
// red".
func (s *Scorer) labels(line string, m mark, alone bool) bool {
	rest := afterLabel(line, m)
	c := classOf(word(rest, 0))
	if alone && m.stands(line) && c.In(follows) && !c.In(verb|joins|denies|doubts) {
		return true
	}
	if s.texts != nil {
		_, n := s.optionOf(rest)
		return n > 0
	}
	if !m.stands(line) || !m.isLabel(line) && !strings.HasPrefix(line[m.to:], " - ") || line[m.from+1] == '.' && !alone {
		return false
	}
	return !c.In(verb | joins | denies | doubts | others)
}

// undoes reports whether a line denies or doubts what is on the next: "It is not:".
func undoes(line string) bool {
	line = strings.TrimRight(line, ":")
	return before(line, len(line)) != 0
}
