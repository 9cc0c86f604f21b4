package choice

import (
	"strings"

	"speceval/internal/scoring"
	"speceval/internal/scoring/words"
)

// boxes reads the boxes of a text that name an option, in order: the last one
// that no words near it deny, doubt or join to another, and where it ends. A box
// that is denied takes back an earlier one of its letter. Another value than 0
// of seen is that there are boxes, 2 that some name options.
func (s *Scorer) boxes(text string) (got reading, end, seen int) {
	var prior byte // letter of the box that ends at end
	denied := false
	for b := range scoring.Boxes(text) {
		content := text[b.From:b.To]
		if b.Open {
			got = reading{note: "no answer: the response ends inside its box", ends: true}
		}
		if b.Open || blank(content) {
			continue
		}
		seen = max(seen, 1)
		r := s.box(content)
		if r.open() {
			continue
		}
		from := strings.LastIndexByte(text[:b.From-1], '\\')
		undone := beforeBox(text[end:from]) | after(text, b.To+1)
		switch {
		case seen == 2 && prior != r.letter && joinsBoxes(text[end:from], r.letter == prior+1 && !denied || numbered(text[end:from])):
			if !denied {
				got = ambiguous
			}
		case undone == 0:
			got, denied = r, false
		default:
			if denied = undone.In(denies); denied && r.letter == got.letter && r.letter != 0 {
				got = withdrawn
			}
		}
		prior, end, seen = r.letter, b.To+1, 2
	}
	return got, end, seen
}

// beforeBox is the effect of the words before a box on it, over the beginning of a formula
// and of one line.
func beforeBox(s string) class {
	const formula = " \t\r$\\([{*_"
	s = strings.TrimRight(s, formula)
	if strings.HasSuffix(s, "~~") {
		return denies
	}
	s = strings.TrimRight(strings.TrimSuffix(s, "\n"), formula)
	if named, is := strings.CutSuffix(s, ":"); is { // "Wrong: "
		if w, _ := words.Before(named, len(named)); classOf(w).In(leads) {
			return 0
		}
		s = named
	}
	if w, i := words.Before(s, len(s)); classOf(w).In(joins) { // "A or"
		if letter, _ := words.Before(s, i); len(letter) == 1 && letter[0] < 'a' {
			return doubts
		}
	}
	return before(s, len(s))
}

// numbered reports whether a text ends in the number or the mark of a list.
func numbered(s string) bool {
	line := strings.Trim(s[strings.LastIndexByte(s, '\n')+1:], " \t$")
	return line != "" && line != s && strings.Trim(line, "0123456789.()-*•") == ""
}

// joinsBoxes reports whether the text between boxes of two letters leaves it
// open which of them is meant: it begins with "or", say, or stays in a sentence
// and does not turn to another answer, or the boxes may be listed.
func joinsBoxes(gap string, listed bool) bool {
	const turns = breaks | noun | given | denies | leads
	first, only, sentence, turn := class(0), true, false, false
	for it := next(gap, 0); it.to < len(gap) || !it.stop; it = next(gap, it.to) {
		if it.stop {
			sentence = sentence || strings.ContainsAny(gap[it.from:it.to], ".!?\n。")
			continue
		}
		if first == 0 {
			first = it.class | 1<<63
		}
		only = only && it.class.In(joins)
		turn = turn || it.class.In(turns) && !is(gap[it.from:it.to], "is", "which")
	}
	return only || first.In(joins) || !turn && (!sentence || listed)
}

// box reads what is in a box. The reading is open if no option is named there.
func (s *Scorer) box(content string) reading {
	content = strings.TrimSpace(content)
	m := markAt(content, 0)
	if m.alone() {
		return s.settle(m.letter)
	}
	if got := s.optionOf(content); !got.open() {
		return got
	}
	if got := s.amend(content, 0, reading{}); !got.open() { // Option C
		return got
	}
	if m.closed && m.stands() || m.upper() && (m.ends() || s.optionOf(m.quoted()).letter != 0 || s.texts == nil && m.letter <= 'D' && !m.closed && m.isLabel()) {
		return s.labelled(m)
	}
	if s.several(content) {
		return ambiguous
	}
	return s.inBrackets(content)
}

// labelled reads a letter with something after it, as in "C) red".
func (s *Scorer) labelled(m mark) reading {
	quoted := s.optionOf(m.quoted()).letter
	other := markAt(m.quoted(), 0)
	switch {
	case quoted == m.letter:
	case quoted != 0, s.several(m.text[m.from:]),
		!m.isLabel() && next(m.quoted(), 0).class.In(denies|doubts), // "B, maybe"
		!other.lower && other.letter != m.letter && other.alone():   // "B - C"
		return ambiguous
	}
	return s.settle(m.letter)
}

// inBrackets reads a letter in brackets at the end, as in "5 m (C)". The
// descriptors of chemistry, such as (R), are beyond the options mostly, and
// nothing then.
func (s *Scorer) inBrackets(content string) reading {
	i := strings.LastIndexByte(content, '(')
	if i > 0 && strings.IndexByte(" \t{~", content[i-1]) >= 0 {
		if m := markAt(content, skipFillers(content, i)); !m.lower && m.closed && m.alone() && s.has(m.letter) {
			return s.settle(m.letter)
		}
	}
	return reading{}
}

// several reports whether a text names more than one of the first options: joined, as in "A
// and C", or one after the other, as in "A) red, B) blue".
func (s *Scorer) several(text string) bool {
	label := byte(0)
	for i := 0; i < len(text); {
		it := next(text, i)
		i = it.to
		switch m := it.mark; {
		case !s.has(m.letter):
		case m.joined(), m.isLabel() && label != 0 && label != m.letter:
			return true
		case m.isLabel():
			label = m.letter
		}
	}
	return false
}
