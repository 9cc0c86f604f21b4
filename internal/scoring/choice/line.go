package choice

import (
	"strings"

	"speceval/internal/scoring/words"
)

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
	return strings.TrimSpace(strings.TrimLeft(line, "#>-=• \t✅✔✓☑→➡⇒👉\ufe0f"))
}

// line reads what the last line states, or a letter that makes it up, alone or
// with the text of its option, or failing that, the first line, alone.
func (s *Scorer) line(text string) reading {
	first, last, prior, at := lines(text)
	if got := s.amend(text, at, reading{}); !got.open() {
		return got
	}
	m := s.optionMark(last, 0)
	if m.letter != 0 && m.joined() {
		return ambiguous
	}
	if m.alone() || m.letter != 0 && s.labels(m, prior == "") {
		parted := m.alone() && strings.HasSuffix(text[:at], "\n\n") && !markAt(prior, 0).alone() // from remarks on options
		switch {
		case listed(prior, m) && !parted, undoes(prior) && !(parted && listed(prior, m)):
			return reading{}
		case m.alone():
			return s.settle(m.letter)
		}
		return s.labelled(m)
	}
	begin := strings.Index(text, first)
	if m = s.optionMark(first, 0); m.letter != 0 && !enumerates(text[begin:], 0, m) && (m.alone() || m.isLabel() && s.labels(m, true)) {
		return s.amend(text, begin+len(first), s.settle(m.letter))
	}
	if !classOf(word(last, 0)).In(words.Turns) && !strings.Contains(last, "(option ") {
		return reading{}
	}
	for it := next(last, 0); it.to < len(last); it = next(last, it.to) {
		if it.class.In(denies | doubts | others | aside) {
			return reading{}
		}
	}
	return s.inBrackets(last) // "So it is 25 m/s (option B)."
}

// optionMark is the mark at i that may name an option: upper-case, or lower-case with nothing behind
// it on its line, and neither the article nor the pronoun unless something closes it, "(a)".
func (s *Scorer) optionMark(text string, i int) mark {
	m := markAt(text, i)
	if rest, _, _ := strings.Cut(m.behind(), "\n"); m.lower && !(bare(rest) && s.has(m.letter) && (m.closed || m.letter != 'A' && m.letter != 'I')) {
		return mark{}
	}
	return m
}

// listed reports whether the line before one with a mark names another
// letter first, so that both are of a list.
func listed(before string, m mark) bool {
	it := next(before, 0)
	for it.mark.letter == 0 && it.to < len(before) {
		it = next(before, it.to)
	}
	other := it.mark
	return other.letter != m.letter && (other.alone() || other.letter != 0 && other.isLabel())
}

// labels reports whether a line says "C) red". With the options' texts known it must be the
// right one. Else a point is a label only where nothing else is said, for "E. coli lives
// there" may end a longer response. A letter with a reason is a label too, "C because it is
// red".
func (s *Scorer) labels(m mark, alone bool) bool {
	rest := m.quoted()
	c := classOf(word(rest, 0))
	if alone && m.stands() && c.In(follows) && !c.In(verb|joins|denies|doubts) {
		return true
	}
	if s.texts != nil {
		return !s.optionOf(rest).open()
	}
	label := m.isLabel() || strings.HasPrefix(m.behind(), " - ")
	return label && m.stands() && (alone || m.text[m.from+1] != '.') && !c.In(verb|joins|denies|doubts|others)
}

// undoes reports whether a line denies or doubts what is on the next: "It is not:".
func undoes(line string) bool {
	line = strings.TrimRight(line, ":")
	return before(line, len(line)) != 0
}
